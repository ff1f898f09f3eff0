package expect

import (
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// lab is two nodes, and a service with web-0 and web-1 behind it.
func lab() *topology.Lab {
	addr := netip.MustParseAddr
	endpoint := func(name, to string) *topology.Endpoint {
		return &topology.Endpoint{Addr: netip.MustParseAddrPort(to), Pod: &topology.Pod{Name: name, Namespace: topology.DefaultNamespace}}
	}
	return &topology.Lab{
		Nodes: []*topology.Node{{Name: "node1", Addrs: []netip.Addr{addr("192.168.0.11")}}, {Name: "node2", Addrs: []netip.Addr{addr("192.168.0.12")}}},
		Services: []*topology.Service{{Name: "web", ClusterIPs: []netip.Addr{addr("10.96.0.1")}, Ports: []*topology.ServicePort{{
			Protocol: topology.TCP, Port: 80, NodePort: 31380,
			Endpoints: []*topology.Endpoint{endpoint("web-0", "10.244.1.2:8080"), endpoint("web-1", "10.244.2.2:8080")},
		}}}},
	}
}

func TestSilenceNeedsAPositiveControl(t *testing.T) {
	reach := func(to string, p flow.Protocol, answers ...string) *Reach {
		return &Reach{To: []Target{{Name: to, Addr: netip.MustParseAddrPort(to)}}, Protocol: p, Answers: answers}
	}
	tests := []struct {
		name    string
		silent  string
		control *Reach
		warned  bool
	}{
		{"no other expectation", "10.244.1.2:8080", nil, true},
		{"same address", "10.244.1.2:8080", reach("10.244.1.2:8080", ""), false},
		{"same address, other protocol", "10.244.1.2:8080", reach("10.244.1.2:8080", flow.UDP), true},
		{"same port of another pod", "10.244.1.2:8080", reach("10.244.2.2:8080", flow.TCP), true},
		{"node port of another node", "192.168.0.12:31380", reach("192.168.0.11:31380", flow.TCP), false},
		{"cluster IP of the service", "192.168.0.12:31380", reach("10.96.0.1:80", flow.TCP), false},
		{"endpoint of the service", "192.168.0.12:31380", reach("10.244.2.2:8080", flow.TCP), false},
		{"pod that answers for the service", "10.244.1.2:8080", reach("10.96.0.1:80", flow.TCP, "web-0"), false},
		{"pod that does not answer for the service", "10.244.1.2:8080", reach("10.96.0.1:80", flow.TCP, "web-1"), true},
		{"another port of the node", "192.168.0.12:31381", reach("192.168.0.12:31380", flow.TCP), true},
		{"node port, other protocol", "192.168.0.12:31380", reach("192.168.0.11:31380", flow.UDP), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			silent := reach(tt.silent, flow.TCP)
			silent.Outcome, silent.Origin = flow.Timeout, topology.Origin{File: "x.hcl", Line: 7}
			all := []*Reach{silent}
			if tt.control != nil {
				all = append(all, tt.control)
			}
			warnings := Controls(lab(), all)
			if len(warnings) > 0 != tt.warned {
				t.Fatalf("got %v, want a warning: %v", warnings, tt.warned)
			}
			for _, w := range warnings {
				if !w.Warning || w.Origin != silent.Origin {
					t.Errorf("got %+v", w)
				}
			}
		})
	}
}

func TestOtherFailuresNeedNoControl(t *testing.T) {
	for _, o := range []flow.Outcome{"", flow.Connected, flow.Refused, flow.Unreachable, flow.Reset} {
		if w := Controls(nil, []*Reach{{To: []Target{node1}, Outcome: o}}); len(w) > 0 {
			t.Errorf("%s: %v", o, w)
		}
	}
	if w := Controls(nil, []*Reach{{To: []Target{node1}, Outcome: flow.Timeout}, {To: []Target{node2}}}); len(w) != 1 {
		t.Errorf("without a lab only the address counts: %v", w)
	}
}
