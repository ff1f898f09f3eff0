package walk_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/topology"
)

// BenchmarkExplain is what netlab explain does in a lab with 10,000 services of three
// endpoints each, without compiling: index the plan, follow one flow to one service,
// render.
func BenchmarkExplain(b *testing.B) {
	for _, services := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			l := build(b, manyServices(services))
			sv := l.Services[len(l.Services)/2]
			f := flow.Flow{From: "node.node3", To: netip.AddrPortFrom(sv.ClusterIPs[0], 80), Protocol: flow.TCP}
			b.ResetTimer()
			for range b.N {
				p := walk.New(l.plan).Walk(f)
				if len(p.Results()) != 3 || len(render.Text(p, render.Brief)) == 0 {
					b.Fatal(render.Text(p, render.Brief))
				}
			}
		})
	}
}

// BenchmarkWalk is one more flow in an indexed world.
func BenchmarkWalk(b *testing.B) {
	l := build(b, manyServices(1_000))
	w := walk.New(l.plan)
	f := flow.Flow{From: "node.node3", To: netip.AddrPortFrom(l.Services[500].ClusterIPs[0], 80), Protocol: flow.TCP}
	w.Walk(f)
	b.ResetTimer()
	for range b.N {
		w.Walk(f)
	}
}

func manyServices(n int) topology.Spec {
	spec := threeNodes("vxlan")
	spec.Network.ServiceCIDRs = set([]netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")})
	spec.Services = nil
	for i := range n {
		spec.Services = append(spec.Services, service(fmt.Sprintf("s%05d", i), "app", "web", func(s *topology.ServiceSpec) {
			if i%10 == 0 {
				s.Type = set("NodePort")
			}
		}))
	}
	spec.Clients[0].Routes = nil
	return spec
}
