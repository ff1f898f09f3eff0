package servicetest

import (
	"net/netip"
	"strconv"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// Setup is a lab for questions.
//
//	node1: a-0 a-1 f-0 l-0 u-0 shell-1 --+-- node2: b-0 r-0 f-1 l-1
//	                                     +-- node3: shell-3
//	                                   laptop
//
// laptop routes cluster IPs to node1; printer is on the underlay, too.
type Setup struct {
	Name    string
	Mode    string // network mode
	Backend string // proxy mode
	Layout  string // of the rules; "": the backend's own
	One     bool   // of many that are alike, such as pod networks: a share of the questions shows most
	IPv6    bool   // questions are about IPv6, in a lab of both families
	// MasqueradeAll, NoDetector and KeepSource are options of proxy and network.
	MasqueradeAll bool
	NoDetector    bool
	KeepSource    bool // pods keep their address towards other nodes
}

// state is a state of a service's endpoints. Its name is their label, too.
type state struct {
	name      string
	endpoints []server
}

// server is an endpoint: a pod on node 1 or 2.
type server struct {
	block       string
	index       int
	node        int
	unready     bool
	terminating bool
}

func (s server) name() string { return s.block + "-" + strconv.Itoa(s.index) }

func states() []state {
	return []state{
		{"three", []server{{block: "a", node: 1}, {block: "a", index: 1, node: 1}, {block: "b", node: 2}}},
		{"remote", []server{{block: "r", node: 2}}},
		{"fallback", []server{{block: "f", node: 1, terminating: true}, {block: "f", index: 1, node: 2}}},
		{"terminating", []server{{block: "l", node: 1, terminating: true}, {block: "l", index: 1, node: 2, terminating: true}}},
		{"unready", []server{{block: "u", node: 1, unready: true}}},
		{"none", nil},
	}
}

// sort is a kind of service.
type sort struct {
	name     string // of the service: sort-state
	external bool   // has node port, load balancer address and external address
	itp, etp topology.TrafficPolicy
	via      int // the node to which external addresses are routed outside
}

func sorts() []sort {
	const cluster, local = topology.PolicyCluster, topology.PolicyLocal
	return []sort{
		{name: "inner", itp: cluster},
		{name: "inner-local", itp: local},
		{name: "outer", external: true, itp: cluster, etp: cluster, via: 1},
		{name: "outer-local", external: true, itp: cluster, etp: local, via: 1},
		{name: "both-local", external: true, itp: local, etp: local, via: 1},
		{name: "far", external: true, itp: cluster, etp: cluster, via: 3},
		{name: "far-local", external: true, itp: cluster, etp: local, via: 3},
	}
}

func set[T any](v T) topology.Opt[T] { return topology.Opt[T]{Value: v, Set: true} }

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// printer is an outside host that has the load balancer address of a service: packets
// that the nodes forward reach it.
var printer = addr("192.168.0.99")

// spec is the setup as a user would write it.
func (s *Setup) spec() topology.Spec {
	spec := topology.Spec{
		Network: topology.NetworkSpec{Mode: set(s.Mode), MasqueradeNodeTraffic: set(!s.KeepSource),
			PodCIDRs:          set([]netip.Prefix{prefix("10.244.0.0/16"), prefix("fd00:10:244::/56")}),
			ServiceCIDRs:      set([]netip.Prefix{prefix("10.96.0.0/16"), prefix("fd00:10:96::/112")}),
			NodeCIDRs:         set([]netip.Prefix{prefix("192.168.0.0/24"), prefix("fd00:192:168::/64")}),
			LoadBalancerCIDRs: set([]netip.Prefix{prefix("203.0.113.0/24"), prefix("2001:db8:1::/112")})},
		Proxy: topology.ProxySpec{Mode: set(s.Backend), MasqueradeAll: set(s.MasqueradeAll)},
		Nodes: []topology.NodeSpec{{Name: "node1", Zone: set("east"), Address: set(addr("192.168.0.11"))}, {Name: "node2", Zone: set("west"), Address: set(addr("192.168.0.12"))},
			{Name: "node3", Zone: set("west"), Address: set(addr("192.168.0.13"))}},
		Clients: []topology.ClientSpec{{Name: "laptop"}, {Name: "printer", Address: set(printer), Ports: []topology.PortSpec{{Name: "http", Port: set(80)}}}},
		Pods:    []topology.PodSpec{shell(1), shell(3)},
	}
	if !s.IPv6 {
		n := &spec.Network
		n.PodCIDRs.Value, n.ServiceCIDRs.Value = n.PodCIDRs.Value[:1], n.ServiceCIDRs.Value[:1]
		n.NodeCIDRs.Value, n.LoadBalancerCIDRs.Value = n.NodeCIDRs.Value[:1], n.LoadBalancerCIDRs.Value[:1]
	}
	if s.NoDetector {
		spec.Proxy.DetectLocal = set("none")
	}
	if s.Layout != "" {
		*spec.Proxy.Layout(s.Backend) = set(s.Layout)
	}
	for _, st := range states() {
		for _, e := range st.endpoints {
			spec.Pods = append(spec.Pods, topology.PodSpec{Block: e.block, Key: strconv.Itoa(e.index), Index: e.index, Node: set("node" + strconv.Itoa(e.node)),
				Labels: map[string]string{"state": st.name}, Ready: set(!e.unready), Terminating: set(e.terminating), Ports: ports()})
		}
		for _, so := range sorts() {
			spec.Services = append(spec.Services, s.service(so, st.name))
		}
	}
	spec.Services = append(spec.Services, s.others()...)
	return spec
}

func shell(node int) topology.PodSpec {
	return topology.PodSpec{Block: "shell", Key: strconv.Itoa(node), Index: node, Node: set("node" + strconv.Itoa(node)), Ports: ports()}
}

func ports() []topology.PortSpec {
	return []topology.PortSpec{{Name: "http", Port: set(8080)}, {Name: "dns", Port: set(53), Protocol: set("udp")}}
}

// service is a service of a sort for the endpoints of a state.
func (s *Setup) service(so sort, state string) topology.ServiceSpec {
	svc := topology.ServiceSpec{Name: so.name + "-" + state, Selector: map[string]string{"state": state},
		InternalTrafficPolicy: set(string(so.itp)),
		Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80), TargetPort: set("8080")},
			{Name: "dns", Port: set(53), TargetPort: set("53"), Protocol: set("udp")}}}
	if s.IPv6 {
		svc.IPFamilyPolicy = set("RequireDualStack")
	}
	if so.external {
		svc.Type, svc.ExternalTrafficPolicy = set("LoadBalancer"), set(string(so.etp))
		svc.LoadBalancerVia = set([]string{"node" + strconv.Itoa(so.via)})
		svc.ExternalIPs = set(externalIPs(svc.Name, s.IPv6))
	}
	return svc
}

// externalIPs are addresses that no host has, by the index of the service in the lab.
func externalIPs(service string, ipv6 bool) []netip.Addr {
	i := 0
	for _, st := range states() {
		for _, so := range sorts() {
			if i++; so.name+"-"+st.name != service {
				continue
			}
			list := []netip.Addr{netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})}
			if ipv6 {
				list = append(list, netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 2, 15: byte(i)}))
			}
			return list
		}
	}
	return nil
}

// testLab is a compiled setup.
type testLab struct {
	*Setup
	lab  *topology.Lab
	plan *plan.Plan
}

// open compiles a setup.
func open(t testing.TB, s *Setup) *testLab {
	t.Helper()
	spec := s.spec()
	lab, problems := resolve.Lab(&spec, datapath.Catalogue())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for _, svc := range lab.Services {
		for _, ip := range svc.ClusterIPs { // which the client sends to node1
			via := topology.OfFamily(lab.Nodes[0].Addrs, ip.Is6())
			lab.Clients[0].Routes = append(lab.Clients[0].Routes, topology.Route{To: topology.Single(ip), Via: via})
		}
	}
	p, err := datapath.Compile(lab)
	if err != nil {
		t.Fatal(err)
	}
	return &testLab{s, lab, p}
}

// svc returns a service of the lab.
func (r *testLab) svc(name string) *topology.Service {
	return topology.First(r.lab.Services, func(s *topology.Service) bool { return s.Name == name })
}

// pod returns a pod's address.
func (r *testLab) pod(name string) netip.Addr {
	p := topology.First(r.lab.Pods, func(p *topology.Pod) bool { return p.Name == name })
	return topology.OfFamily(p.Addrs, r.IPv6)
}

// node returns the address of a node on the underlay.
func (r *testLab) node(n int) netip.Addr { return topology.OfFamily(r.lab.Nodes[n-1].Addrs, r.IPv6) }

// egress is the address of node n towards pods of another: that of the outgoing link,
// which masquerade uses.
func (r *testLab) egress(n, to int) netip.Addr {
	return r.lab.Network.Towards(r.lab.Nodes[n-1], r.lab.Nodes[to-1], r.IPv6)
}
