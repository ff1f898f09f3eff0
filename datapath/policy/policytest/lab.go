package policytest

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// Setup is a lab for the cases: pods a, b and c in each of three namespaces, so that
// every kind of pair exists on one node and across two.
//
//	node1: x/a x/c y/b z/a z/c --+-- node2: x/b y/a y/c z/b
//	                             |
//	                          outside
//
// Each node has a pod on the host network. The service y/web leads to y/b. outside has
// routes to the pods via their nodes.
type Setup struct {
	Name  string
	Style string
	Mode  string // network mode
	Deny  string
	Live  string // keep or cut; empty: keep
	Proxy string // proxy mode; empty: the default
	IPv6  bool   // questions are about IPv6, in a lab of both families
	Full  bool   // every case is tested on all protocols and ports
	Part  int    // one of so many cases is tested; 0: all
	SCTP  bool   // questions include SCTP, which not every kernel supports
}

func set[T any](v T) topology.Opt[T] { return topology.Opt[T]{Value: v, Set: true} }

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// ports are those of a pod. Their names are swapped on c, and z/c has none.
func (s *Setup) ports(pod string) []topology.PortSpec {
	names := []string{"web", "alt"}
	switch pod {
	case "x/c", "y/c":
		names = []string{"alt", "web"}
	case "z/c":
		names = []string{"", ""}
	}
	list := []topology.PortSpec{
		{Name: names[0], Port: set(80)}, {Name: names[1], Port: set(81)},
		{Name: "dns", Port: set(80), Protocol: set("udp")}, {Name: "ntp", Port: set(81), Protocol: set("udp")},
	}
	if s.SCTP {
		list = append(list, topology.PortSpec{Name: "sig", Port: set(80), Protocol: set("sctp")})
	}
	return list
}

// spec is the lab without policies.
func (s *Setup) spec() topology.Spec {
	spec := topology.Spec{
		Network: topology.NetworkSpec{Mode: set(s.Mode)},
		Nodes: []topology.NodeSpec{{Name: "node1", Address: set(netip.MustParseAddr("192.168.0.11"))},
			{Name: "node2", Address: set(netip.MustParseAddr("192.168.0.12"))}},
		Clients:       []topology.ClientSpec{{Name: "outside", Ports: s.ports("")}},
		PolicyOptions: topology.PoliciesSpec{Style: set(s.Style), Deny: set(s.Deny)},
	}
	if s.Proxy != "" {
		spec.Proxy.Mode = set(s.Proxy)
	}
	if s.Live != "" {
		spec.PolicyOptions.Live = set(s.Live)
	}
	if s.IPv6 {
		spec.Network.Families = set("dual")
	}
	for _, n := range []string{"x", "y", "z"} {
		spec.Namespaces = append(spec.Namespaces, topology.NamespaceSpec{Name: n, Labels: map[string]string{"ns": n, "letter": n}})
	}
	delete(spec.Namespaces[2].Labels, "letter")
	for i, pod := range order()[:9] { // on the two nodes in turns
		ns, name, _ := strings.Cut(pod, "/")
		labels := map[string]string{"pod": name, "ns": ns}
		if name == "a" {
			labels["first"] = "yes"
		}
		if pod == "y/b" {
			labels["serves"] = "web" // stays when the cases change other labels
		}
		spec.Pods = append(spec.Pods, topology.PodSpec{Block: name, Namespace: set(ns), Node: set("node" + strconv.Itoa(1+i%2)),
			Labels: labels, Ports: s.ports(pod)})
	}
	for _, n := range []string{"1", "2"} {
		spec.Pods = append(spec.Pods, topology.PodSpec{Block: "host" + n, Namespace: set("x"), Node: set("node" + n), HostNetwork: set(true),
			Labels: map[string]string{"pod": "a", "ns": "x"}, Ports: s.ports("")})
	}
	for i, policy := range []string{"Cluster", "Local"} {
		svc := topology.ServiceSpec{Name: []string{"web", "web-local"}[i], Namespace: set("y"), Type: set("NodePort"), Selector: map[string]string{"serves": "web"},
			ExternalTrafficPolicy: set(policy), Ports: []topology.ServicePortSpec{{Name: "http", Port: set(8080), TargetPort: set("80"), NodePort: set(30080 + i)},
				{Name: "dns", Port: set(8080), TargetPort: set("80"), NodePort: set(30080 + i), Protocol: set("udp")}}}
		if s.IPv6 {
			svc.IPFamilyPolicy = set("RequireDualStack")
		}
		spec.Services = append(spec.Services, svc)
	}
	return spec
}

// testLab is a setup with resolved addresses.
type testLab struct {
	*Setup
	base *topology.Lab // without policies
	ends map[string]*end
}

// enter resolves the lab without policies.
func enter(t testing.TB, s *Setup) *testLab {
	t.Helper()
	spec := s.spec()
	r := &testLab{Setup: s, base: labOf(t, &spec)}
	r.ends = r.allEnds()
	return r
}

// open compiles the lab with the policies of a case.
func (r *testLab) open(t testing.TB, c *Case) (*topology.Spec, *topology.Lab, *plan.Plan) {
	t.Helper()
	spec := r.spec()
	for _, say := range c.Say {
		say(r, &spec)
	}
	lab := labOf(t, &spec)
	p, err := datapath.Compile(lab)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return &spec, lab, p
}

// labOf resolves a lab and gives outside routes to the pods.
func labOf(t testing.TB, spec *topology.Spec) *topology.Lab {
	t.Helper()
	lab, problems := resolve.Lab(spec, datapath.Catalogue())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for _, n := range lab.Nodes {
		for _, cidr := range n.PodCIDRs {
			lab.Clients[0].Routes = append(lab.Clients[0].Routes, topology.Route{To: cidr, Via: topology.OfFamily(n.Addrs, cidr.Addr().Is6())})
		}
	}
	return lab
}

// egress is the address of node n towards pods of another: that of the outgoing link,
// which masquerade uses.
func (r *testLab) egress(n, to int) netip.Addr {
	return r.base.Network.Towards(r.base.Nodes[n-1], r.base.Nodes[to-1], r.IPv6)
}

// block returns a CIDR by name: of a pod, a node, outside, "pods", "pods of node1",
// "underlay", "all", "other family", or as it is.
func (r *testLab) block(name string) netip.Prefix {
	ofFamily := func(list []netip.Prefix) netip.Prefix { return topology.PrefixOfFamily(list, r.IPv6) }
	name, wider, _ := strings.Cut(name, " wider by ")
	var out netip.Prefix
	switch name {
	case "pods":
		out = ofFamily(r.base.Network.PodCIDRs)
	case "underlay":
		out = ofFamily(r.base.Network.NodeCIDRs)
	case "services":
		out = ofFamily(r.base.Network.ServiceCIDRs)
	case "pods of node1", "pods of node2":
		out = ofFamily(r.base.Nodes[name[len(name)-1]-'1'].PodCIDRs)
	case "all":
		out = prefix("0.0.0.0/0")
		if r.IPv6 {
			out = prefix("::/0")
		}
	case "other family":
		out = prefix("::/0")
		if r.IPv6 {
			out = prefix("0.0.0.0/0")
		}
	default:
		e := r.ends[name]
		if e == nil {
			panic("policytest: no block " + name)
		}
		out = topology.Single(e.addr)
	}
	if wider != "" {
		out = netip.PrefixFrom(out.Addr(), out.Bits()-int(wider[0]-'0')).Masked()
	}
	return out
}
