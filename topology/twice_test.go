package topology

import "testing"

// Two pods on the network of one node have one address, and a numeric target port is
// the same for both.
func TestPodsOfOneAddressAreOneEndpoint(t *testing.T) {
	pod := func(name string, ready bool) PodSpec {
		return PodSpec{Block: name, Labels: map[string]string{"app": "web"}, Node: Opt[string]{Value: "n1", Set: true},
			HostNetwork: Opt[bool]{Value: true, Set: true}, Ready: Opt[bool]{Value: ready, Set: true}}
	}
	for name, ready := range map[string][2]bool{"both ready": {true, true}, "the first": {true, false}, "the second": {false, true}} {
		lab, _ := Resolve(&Spec{
			Nodes: []NodeSpec{{Name: "n1"}},
			Pods:  []PodSpec{pod("a", ready[0]), pod("b", ready[1])},
			Services: []ServiceSpec{{Name: "web", Selector: map[string]string{"app": "web"}, Ports: []ServicePortSpec{{
				Name: "http", Port: Opt[int]{Value: 80, Set: true}, TargetPort: Opt[string]{Value: "8080", Set: true}}}}},
		})
		endpoints := lab.Services[0].Ports[0].Endpoints
		if len(endpoints) != 1 || !endpoints[0].Ready {
			t.Errorf("%s: %d endpoints, want one that is ready", name, len(endpoints))
		}
	}
}
