package fault_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/fault"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// every kind, in the modes in which it can be staged.
var staged = map[string][]string{
	"missing-route":      {"vxlan", "host-gw", "wireguard", "ipvs"},
	"stale-route":        {"vxlan", "host-gw", "wireguard", "ipvs"},
	"off-link-next-hop":  {"vxlan", "host-gw", "wireguard", "ipvs"},
	"duplicate-pod-cidr": {"vxlan", "host-gw", "udp", "encrypted", "wireguard", "ipvs"},
	"strict-rp-filter":   {"vxlan", "host-gw", "udp", "encrypted", "wireguard", "ipsec", "bridge", "bgp", "ipvs"},
	"forwarding-off":     {"vxlan", "host-gw", "udp", "encrypted", "wireguard", "ipsec", "bridge", "bgp", "ipvs"},
	"closed-forward":     {"vxlan", "host-gw", "udp", "encrypted", "wireguard", "ipsec", "bridge", "bgp", "ipvs"},
	"missing-fdb":        {"vxlan", "ipvs"},
	"missing-neighbour":  {"vxlan", "ipvs"},
	"dead-daemon":        {"udp", "encrypted", "wireguard", "bgp"},
	"wrong-key":          {"encrypted", "wireguard", "ipsec"},
	"blocked-port":       {"vxlan", "host-gw", "udp", "encrypted", "wireguard", "ipsec", "bridge", "bgp", "ipvs"},
	"missing-addresses":  {"ipvs"},
	"wrong-mtu":          {"vxlan", "udp", "encrypted", "wireguard", "ipsec", "ipvs"},
}

func TestFaultsChangeTheirCopyOfThePlan(t *testing.T) {
	for _, kind := range fault.Kinds() {
		if len(staged[kind.Name]) == 0 {
			t.Errorf("%s: no mode in which it is staged: add it to %q, in this file", kind.Name, "staged")
		}
		for _, mode := range []string{"vxlan", "host-gw", "udp", "encrypted", "wireguard", "ipsec", "bridge", "bgp", "ipvs"} {
			lab, p := compiled(t, mode)
			before := fmt.Sprint(p.Text())
			f := &topology.Fault{Name: "x", Kind: kind, Node: lab.Nodes[0], Towards: lab.Nodes[1], Protocol: topology.UDP, Port: 8472}
			broken, err := fault.Apply(lab, p, f)
			if want := slices.Contains(staged[kind.Name], mode); (err == nil) != want {
				t.Errorf("%s in mode %s: %v", kind.Name, mode, err)
			}
			if fmt.Sprint(p.Text()) != before {
				t.Errorf("%s in mode %s changes the sound plan", kind.Name, mode)
			}
			if err == nil && plan.Diff(p, broken).Empty() {
				t.Errorf("%s in mode %s changes nothing", kind.Name, mode)
			}
		}
	}
}

// compiled is a lab of three nodes in a network mode, with BGP, or in proxy mode ipvs, and its plan.
func compiled(t *testing.T, mode string) (*topology.Lab, *plan.Plan) {
	t.Helper()
	network := topology.NetworkSpec{BGP: topology.BGPSpec{Written: mode == "bgp"}}
	var proxy topology.ProxySpec
	var services []topology.ServiceSpec
	switch mode {
	case "bgp":
		mode = "routed"
	case "ipvs", topology.AddressesRoutes:
		proxy.Mode = topology.Opt[string]{Value: "ipvs", Set: true}
		proxy.IPVS.Addresses = topology.Opt[string]{Value: mode, Set: mode != "ipvs"}
		services = append(services, served())
		mode = "vxlan"
	}
	network.Mode = topology.Opt[string]{Value: mode, Set: true}
	lab, problems := resolve.Lab(&topology.Spec{Name: "x", Network: network, Proxy: proxy, Services: services, Nodes: []topology.NodeSpec{{Name: "node1"}, {Name: "node2"}, {Name: "node3"}},
		Pods: []topology.PodSpec{{Block: "a", Node: topology.Opt[string]{Value: "node1", Set: true}}, {Block: "b", Node: topology.Opt[string]{Value: "node2", Set: true}}}}, datapath.Catalogue())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := datapath.Compile(lab)
	if err != nil {
		t.Fatal(err)
	}
	return lab, p
}

// served is a service with a node port, and so with virtual servers at the node's own addresses, too.
func served() topology.ServiceSpec {
	return topology.ServiceSpec{Name: "web", Type: topology.Opt[string]{Value: "NodePort", Set: true},
		Ports: []topology.ServicePortSpec{{Name: "http", Port: topology.Opt[int]{Value: 80, Set: true}}}}
}

// A node that holds no address of a service to be its own has all others still, and all virtual
// servers.
func TestMissingAddressesAreThoseOfServices(t *testing.T) {
	for _, mode := range []string{"ipvs", topology.AddressesRoutes} {
		lab, p := compiled(t, mode)
		f := &topology.Fault{Name: "x", Kind: topology.FaultKind{Name: "missing-addresses"}, Node: lab.Nodes[0]}
		broken, err := fault.Apply(lab, p, f)
		if err != nil {
			t.Fatal(err)
		}
		was, is := netnsOf(p, f.Node), netnsOf(broken, f.Node)
		if got := len(was.Addrs) + len(was.Routes) - len(is.Addrs) - len(is.Routes); got != 1 {
			t.Errorf("%s: %d addresses and routes are gone, want that of the cluster IP", mode, got)
		}
		if len(is.Virtual) != len(was.Virtual) || len(was.Virtual) < 2 {
			t.Errorf("%s: %d of %d virtual servers are left", mode, len(is.Virtual), len(was.Virtual))
		}
	}
}

func netnsOf(p *plan.Plan, n *topology.Node) *plan.Netns {
	i := slices.IndexFunc(p.Netns, func(ns plan.Netns) bool { return ns.Name == n.Netns() })
	return &p.Netns[i]
}

// The node with the higher address connects: in front of a node's port 179 a firewall ends
// the sessions with those above it.
func TestAFirewallEndsTheSessionsInWhichANodeListens(t *testing.T) {
	lab, p := compiled(t, "bgp")
	for i, want := range [][]int{{0, 1, 1}, {2, 1, 1}, {2, 2, 2}} {
		broken, err := fault.Apply(lab, p, &topology.Fault{Name: "x", Kind: topology.FaultKind{Name: "blocked-port"}, Node: lab.Nodes[i], Protocol: topology.TCP, Port: 179})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for k := range broken.Netns {
			if n := &broken.Netns[k]; n.Kind == plan.Node {
				got = append(got, len(n.Learned()))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("port 179 of %s blocked: the nodes learn %v routes, want %v", lab.Nodes[i].Name, got, want)
		}
	}
}

// A fault comes before what an agent of the scenario has put into a chain, as the rules do that are
// ahead of agents.
func TestFaultsAreAheadOfAgents(t *testing.T) {
	lab, p := compiled(t, "vxlan")
	netns := lab.Nodes[0].Netns()
	rules := func(words ...string) (list []iptables.Rule) {
		for _, w := range words {
			list = append(list, iptables.Rule{Raw: "-j " + w})
		}
		return list
	}
	tables := func(p *plan.Plan) *[]iptables.Table {
		for i := range p.Netns {
			if p.Netns[i].Name == netns {
				return &p.Netns[i].Tables
			}
		}
		t.Fatal("no node")
		return nil
	}
	chains := func(words ...string) (list []iptables.Chain) {
		for _, name := range []string{"INPUT", "FORWARD"} {
			list = append(list, iptables.Chain{Name: name, Policy: "ACCEPT", Rules: rules(words...), Ahead: 1})
		}
		return list
	}
	*tables(p) = []iptables.Table{{Name: "filter", Chains: chains("POLICY", "NETWORK")}}
	have := []iptables.Table{{Name: "filter", Chains: chains("AGENT", "POLICY", "NETWORK")}}
	for kind, want := range map[string]map[string]string{
		"blocked-port":   {"INPUT": "-j DROP|-j POLICY|-j AGENT|-j NETWORK", "FORWARD": "-j POLICY|-j AGENT|-j NETWORK"},
		"closed-forward": {"INPUT": "-j POLICY|-j AGENT|-j NETWORK", "FORWARD": "-j AGENT"},
	} {
		i := slices.IndexFunc(fault.Kinds(), func(k topology.FaultKind) bool { return k.Name == kind })
		broken, err := fault.Apply(lab, p, &topology.Fault{Name: "x", Kind: fault.Kinds()[i], Node: lab.Nodes[0], Protocol: topology.UDP, Port: 8472})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range iptables.Adopt(*tables(broken), have, *tables(p))[0].Chains {
			var words []string
			for _, r := range c.Rules {
				text := r.Save()
				words = append(words, text[strings.Index(text, "-j"):])
			}
			if got := strings.Join(words, "|"); got != want[c.Name] {
				t.Errorf("%s: chain %s is %s, want %s", kind, c.Name, got, want[c.Name])
			}
		}
	}
}
