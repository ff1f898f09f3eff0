package services_test

import (
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// Two pods on the network of one node have one address, and a numeric target port is
// the same for both.
func TestPodsOfOneAddressAreOneEndpoint(t *testing.T) {
	pod := func(name string, ready bool) topology.PodSpec {
		return topology.PodSpec{Block: name, Labels: map[string]string{"app": "web"}, Node: topology.Opt[string]{Value: "n1", Set: true},
			HostNetwork: topology.Opt[bool]{Value: true, Set: true}, Ready: topology.Opt[bool]{Value: ready, Set: true}}
	}
	for name, ready := range map[string][2]bool{"both ready": {true, true}, "the first": {true, false}, "the second": {false, true}} {
		lab, _ := resolve.Lab(&topology.Spec{
			Nodes: []topology.NodeSpec{{Name: "n1"}},
			Pods:  []topology.PodSpec{pod("a", ready[0]), pod("b", ready[1])},
			Services: []topology.ServiceSpec{{Name: "web", Selector: map[string]string{"app": "web"}, Ports: []topology.ServicePortSpec{{
				Name: "http", Port: topology.Opt[int]{Value: 80, Set: true}, TargetPort: topology.Opt[string]{Value: "8080", Set: true}}}}},
		}, datapath.Catalogue())
		endpoints := lab.Services[0].Ports[0].Endpoints
		if len(endpoints) != 1 || !endpoints[0].Ready {
			t.Errorf("%s: %d endpoints, want one that is ready", name, len(endpoints))
		}
	}
}
