package datapath_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// manyServices is a lab of one node, built as Resolve would, with 3 endpoints each.
func manyServices(n int) *topology.Lab {
	catalogue := datapath.Catalogue()
	subnet := &topology.Subnet{Name: topology.DefaultSubnet, MTU: 1500, CIDRs: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/24")}, Gateways: []netip.Addr{netip.MustParseAddr("192.168.0.1")}}
	node := &topology.Node{Name: "node1", Subnet: subnet, Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.11")},
		PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}
	lab := &topology.Lab{Name: "many", Subnets: []*topology.Subnet{subnet}, Nodes: []*topology.Node{node},
		Network: topology.Network{Mode: catalogue.Networks[1], MTU: 1500, PathMTU: 1500, PodCIDRs: node.PodCIDRs, NodeCIDRs: subnet.CIDRs},
		Proxy:   topology.Proxy{Mode: catalogue.Proxies[0], LocalNodePorts: true}}
	for i := range n {
		p := &topology.ServicePort{Name: "http", Protocol: topology.TCP, Port: 80}
		for j := range 3 {
			k := i*3 + j
			a := netip.AddrFrom4([4]byte{10, 244, byte(k >> 8), byte(k)})
			p.Endpoints = append(p.Endpoints, &topology.Endpoint{Addr: netip.AddrPortFrom(a, 8080), Node: "node1", Ready: true, Serving: true})
		}
		lab.Services = append(lab.Services, &topology.Service{Name: fmt.Sprintf("s%05d", i), Namespace: "default", Type: topology.ClusterIP,
			ClusterIPs:            []netip.Addr{netip.AddrFrom4([4]byte{10, 96, byte(i >> 8), byte(i)})},
			ExternalTrafficPolicy: topology.PolicyCluster, InternalTrafficPolicy: topology.PolicyCluster, Ports: []*topology.ServicePort{p}})
	}
	return lab
}

// A cluster IP with n endpoints costs 1 rule in KUBE-SERVICES, 1 + n in its own
// chain and 2 in the chain of each endpoint.
func TestRulesPerService(t *testing.T) {
	count := func(services int) (rules int) {
		p, err := datapath.Compile(manyServices(services))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range p.Netns {
			for _, table := range n.Tables {
				for _, c := range table.Chains {
					rules += len(c.Rules)
				}
			}
		}
		return rules
	}
	if got := count(101) - count(1); got != 100*(1+1+3+3*2) {
		t.Errorf("100 services have %d rules", got)
	}
}

// One endpoint of one service is replaced by another: three chains change.
func TestOneEndpointChangesItsChainsOnly(t *testing.T) {
	before := compiled(t, manyServices(100))
	c := plan.Diff(before, compiled(t, moved(manyServices(100))))
	if len(c.Edit) != 1 || len(c.Edit[0].Tables) != 1 || len(c.Create)+len(c.Remove) != 0 {
		t.Fatalf("got %s", c.Summary())
	}
	e := c.Edit[0].Tables[0]
	var set []string
	for _, chain := range e.Set {
		set = append(set, chain.Name[:len("KUBE-SVC")])
	}
	if want := []string{"KUBE-SEP", "KUBE-SVC"}; !slices.Equal(set, want) || len(e.Delete) != 1 || !strings.HasPrefix(e.Delete[0], "KUBE-SEP-") {
		t.Errorf("set %q, deleted %q", set, e.Delete)
	}
	if n := strings.Count(iptables.RestoreText(c.Edit[0].Tables, false), "\n"); n > 20 {
		t.Errorf("%d lines of restore input", n)
	}
}

func compiled(t testing.TB, lab *topology.Lab) *plan.Plan {
	t.Helper()
	p, err := datapath.Compile(lab)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// moved gives the middle service another first endpoint.
func moved(lab *topology.Lab) *topology.Lab {
	e := lab.Services[len(lab.Services)/2].Ports[0].Endpoints[0]
	e.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 245, 0, 1}), e.Addr.Port())
	return lab
}

var sizes = []int{1_000, 10_000}

func BenchmarkCompile(b *testing.B) {
	for _, n := range sizes {
		lab := manyServices(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compiled(b, lab)
			}
		})
	}
}

// Compile and render: what netlab costs on top of a bare restore of the same text.
func BenchmarkCompileAndRender(b *testing.B) {
	for _, n := range sizes {
		lab := manyServices(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				iptables.RestoreText(iptables.Create(compiled(b, lab).Netns[1].Tables), false)
			}
		})
	}
}

// One endpoint changes: compile, compare with what the kernel printed, render.
func BenchmarkOneEndpoint(b *testing.B) {
	for _, n := range sizes {
		have, lab := fromKernel(compiled(b, manyServices(n))), moved(manyServices(n))
		want := compiled(b, lab)
		var changes plan.Changes
		b.Run(strconv.Itoa(n)+"/compile", func(b *testing.B) {
			for b.Loop() {
				compiled(b, lab)
			}
		})
		b.Run(strconv.Itoa(n)+"/diff", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changes = plan.Diff(have, want)
			}
		})
		b.Run(strconv.Itoa(n)+"/render", func(b *testing.B) {
			for b.Loop() {
				iptables.RestoreText(changes.Edit[0].Tables, false)
			}
		})
	}
}

// fromKernel returns the plan with rules as iptables-save prints them.
func fromKernel(p *plan.Plan) *plan.Plan {
	for i := range p.Netns {
		for _, t := range p.Netns[i].Tables {
			for _, c := range t.Chains {
				for j := range c.Rules {
					c.Rules[j] = iptables.Rule{Raw: c.Rules[j].Save()}
				}
			}
		}
	}
	return p
}

func BenchmarkRestoreText(b *testing.B) {
	p, err := datapath.Compile(manyServices(10_000))
	if err != nil {
		b.Fatal(err)
	}
	edits := iptables.Create(p.Netns[1].Tables)
	b.ReportAllocs()
	for b.Loop() {
		iptables.RestoreText(edits, false)
	}
}

func BenchmarkRequires(b *testing.B) {
	p, err := datapath.Compile(manyServices(10_000))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		plan.Requires(p)
	}
}

func BenchmarkDigest(b *testing.B) {
	p, err := datapath.Compile(manyServices(10_000))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p.Digest()
	}
}
