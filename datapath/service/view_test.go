package service

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/topology"
)

// Endpoints of the rows: a1 and a2 on node a, b1 on node b; each letter after the
// colon is one that is (r)eady, (n)ot ready, (s)erving while it terminates, or
// (t)erminating without serving.
func endpoints(states string) []*topology.Endpoint {
	var list []*topology.Endpoint
	for i, field := range strings.Fields(states) {
		name, state, _ := strings.Cut(field, ":")
		a := netip.AddrFrom4([4]byte{10, 244, name[0] - 'a' + 1, byte(i + 1)})
		list = append(list, &topology.Endpoint{Addr: netip.AddrPortFrom(a, 80), Pod: &topology.Pod{Name: name}, Node: name[:1],
			Ready: state == "r", Serving: state == "r" || state == "s", Terminating: state == "s" || state == "t"})
	}
	return list
}

func names(list []*topology.Endpoint) string {
	var out []string
	for _, e := range list {
		out = append(out, e.Pod.Name)
	}
	return strings.Join(out, " ")
}

// What node a uses, as kube-proxy's CategorizeEndpoints chooses.
func TestNodesUseTheEndpointsOfTheirPolicy(t *testing.T) {
	const local, cluster = topology.PolicyLocal, topology.PolicyCluster
	for _, row := range []struct {
		name               string
		internal, external topology.TrafficPolicy
		nodePort           uint16
		endpoints          string
		cluster, local     string
		none               bool // no usable endpoint anywhere
	}{
		{"policy Cluster takes all", cluster, cluster, 0, "a1:r a2:r b1:r", "a1 a2 b1", "", false},
		{"endpoints that are not ready are left out", cluster, cluster, 0, "a1:r a2:n b1:t", "a1", "", false},
		{"terminating ones step in when no ready one is left", cluster, cluster, 0, "a1:s a2:n b1:s", "a1 b1", "", false},
		{"and not before", cluster, cluster, 0, "a1:s b1:r", "b1", "", false},
		{"not ready is not usable", cluster, cluster, 0, "a1:n b1:t", "", "", true},
		{"no endpoints", cluster, cluster, 0, "", "", "", true},
		{"internal Local takes those here, and needs no others", local, cluster, 0, "a1:r b1:r", "", "a1", false},
		{"internal Local with none here", local, cluster, 0, "b1:r", "", "", false},
		{"internal Local of a node port needs both", local, cluster, 30000, "a1:r b1:r", "a1 b1", "a1", false},
		{"external Local needs both, for the short circuit", cluster, local, 30000, "a1:r b1:r", "a1 b1", "a1", false},
		{"external Local without a node port has no effect", cluster, local, 0, "a1:r b1:r", "a1 b1", "", false},
		{"a terminating one here steps in although ready ones are elsewhere", cluster, local, 30000, "a1:s b1:r", "b1", "a1", false},
		{"both Local", local, local, 30000, "a1:r a2:n b1:r", "a1 b1", "a1", false},
		{"terminating and not serving is not usable", local, local, 30000, "a1:t", "", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			svc := &topology.Service{InternalTrafficPolicy: row.internal, ExternalTrafficPolicy: row.external}
			p := newPort(svc, &topology.ServicePort{NodePort: row.nodePort, Endpoints: endpoints(row.endpoints)},
				netip.MustParseAddr("10.96.0.1"), &topology.Node{Name: "a", Zone: "east"})
			if got := names(p.Cluster); got != row.cluster {
				t.Errorf("cluster: got %q, want %q", got, row.cluster)
			}
			if got := names(p.Local); got != row.local {
				t.Errorf("local: got %q, want %q", got, row.local)
			}
			if p.Any == row.none {
				t.Errorf("any: got %v", p.Any)
			}
			for _, e := range append(p.Cluster, p.Local...) {
				if !strings.Contains(names(p.All), e.Pod.Name) {
					t.Errorf("all: %q lacks %s", names(p.All), e.Pod.Name)
				}
			}
		})
	}
}

func TestEndpointsAreOrderedByTheirText(t *testing.T) {
	var list []*topology.Endpoint
	for _, a := range []string{"10.0.0.2:80", "10.0.0.10:80", "10.0.0.1:9", "10.0.0.1:80", "[fd00::1]:80"} {
		list = append(list, &topology.Endpoint{Addr: netip.MustParseAddrPort(a), Ready: true})
	}
	svc := &topology.Service{}
	p := newPort(svc, &topology.ServicePort{Endpoints: list}, netip.MustParseAddr("10.96.0.1"), &topology.Node{Name: "a", Zone: "east"})
	var got []string
	for _, e := range p.Cluster {
		got = append(got, e.Addr.String())
	}
	if want := "10.0.0.10:80 10.0.0.1:80 10.0.0.1:9 10.0.0.2:80"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if list[0].Addr.Port() != 80 || list[0].Addr.Addr() != netip.MustParseAddr("10.0.0.2") {
		t.Error("the lab's own list was sorted")
	}
}

func TestHeadlessServicesAndOtherFamiliesHaveNoPorts(t *testing.T) {
	port := &topology.ServicePort{Name: "http", Endpoints: endpoints("a1:r")}
	lab := &topology.Lab{Services: []*topology.Service{
		{Name: "headless", Ports: []*topology.ServicePort{port}},
		{Name: "z", Namespace: "b", Ports: []*topology.ServicePort{port}, ClusterIPs: []netip.Addr{netip.MustParseAddr("10.96.0.1"), netip.MustParseAddr("fd00::1")}},
		{Name: "y", Namespace: "c", Ports: []*topology.ServicePort{{Name: "b"}, {Name: "a"}}, ClusterIPs: []netip.Addr{netip.MustParseAddr("10.96.0.2")}},
	}}
	var got []string
	for _, p := range NewView(lab, &topology.Node{Name: "a"}, nil).Ports {
		got = append(got, p.Service.Namespace+"/"+p.Service.Name+":"+p.Port.Name+" "+p.ClusterIP.String()+" "+names(p.All))
	}
	want := "b/z:http 10.96.0.1 a1,b/z:http fd00::1 ,c/y:a 10.96.0.2 ,c/y:b 10.96.0.2 "
	if strings.Join(got, ",") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, ","), want)
	}
}

// Intervals of a set do not overlap; and where the node is admitted, so is the address of the
// load balancer.
func TestAdmittedSourcesDoNotOverlap(t *testing.T) {
	p := netip.MustParsePrefix
	node := &topology.Node{Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.11")}}
	port := Port{ClusterIP: netip.MustParseAddr("10.96.0.1"), VIPs: []netip.Addr{netip.MustParseAddr("203.0.113.1")}}
	for _, r := range []string{"10.1.0.0/16", "10.0.0.0/8", "10.2.0.0/16", "192.168.1.0/24", "10.0.0.0/8"} {
		port.SourceRanges = append(port.SourceRanges, p(r))
	}
	if got, want := port.Admitted(node), []netip.Prefix{p("10.0.0.0/8"), p("192.168.1.0/24")}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	port.SourceRanges = append(port.SourceRanges, p("192.168.0.0/24"))
	if got, want := port.Admitted(node), []netip.Prefix{p("10.0.0.0/8"), p("192.168.0.0/24"), p("192.168.1.0/24"), p("203.0.113.1/32")}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
