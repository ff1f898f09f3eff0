package suite_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/meaning"
)

var (
	firstSeed = flag.Uint64("seed", 0, "seed of the first random lab; 0: a random one")
	labCount  = flag.Int("labs", 160, "how many random labs are compared on paper")
)

// seeds are the seeds of n labs, or those that go test -run names:
// TestKernelDoesWhatServicesMean/4711.
func seeds(n int) []uint64 {
	if _, names, ok := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); ok {
		var named []uint64
		for _, text := range regexp.MustCompile(`\d+`).FindAllString(names, -1) {
			if seed, err := strconv.ParseUint(text, 10, 64); err == nil {
				named = append(named, seed)
			}
		}
		return named
	}
	first := *firstSeed
	if first == 0 {
		first = 1 + uint64(rand.Uint32())
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = first + uint64(i)
	}
	return list
}

// question is a connection to try.
type question struct {
	from     topology.Dialer
	to       netip.AddrPort
	protocol topology.Protocol
}

func (q question) flow() flow.Flow {
	return flow.Flow{From: q.from.Netns(), To: q.to, Protocol: flow.Protocol(q.protocol)}
}

func (q question) String() string {
	return fmt.Sprintf("%s to %s over %s", q.from.Netns(), q.to, q.protocol)
}

// questions are the connections of all dialers to all targets of the lab.
func questions(lab *topology.Lab) []question {
	var out []question
	for _, target := range targets(lab) {
		for _, d := range lab.Dialers() {
			out = append(out, question{d, target.to, target.protocol})
		}
	}
	return out
}

// target is an address to dial.
type target struct {
	to       netip.AddrPort
	protocol topology.Protocol
}

// wrongPort is a port on which nothing listens.
const wrongPort = 79

// targets are the addresses of services, also with a wrong port; node ports and host ports on all
// addresses of nodes; pods, clients and all other listeners, also with a wrong port.
func targets(lab *topology.Lab) []target {
	known := map[target]bool{}
	var out []target
	add := func(a netip.Addr, port uint16, protocol topology.Protocol) {
		if t := (target{netip.AddrPortFrom(a, port), protocol}); !known[t] {
			known[t] = true
			out = append(out, t)
		}
	}
	hosts := nodeAddresses(lab)
	for _, sv := range lab.Services {
		addrs := append(slices.Clone(sv.ClusterIPs), sv.ExternalIPs...)
		for _, l := range sv.LoadBalancers {
			addrs = append(addrs, l.Addr)
		}
		for _, p := range sv.Ports {
			for _, a := range addrs {
				add(a, p.Port, p.Protocol)
			}
			if p.NodePort != 0 {
				for _, a := range hosts {
					add(a, p.NodePort, p.Protocol)
				}
			}
		}
		for _, a := range addrs {
			add(a, wrongPort, topology.TCP)
			for _, p := range lab.Pods {
				if p.HostNetwork && len(p.Ports) > 0 { // a port of the node, not of the service
					add(a, p.Ports[0].Number, topology.TCP)
				}
			}
		}
	}
	for _, p := range lab.Pods {
		for _, port := range p.Ports {
			for _, a := range hosts {
				if port.HostPort != 0 {
					add(a, port.HostPort, port.Protocol)
				}
			}
		}
		for _, a := range p.Addrs {
			for _, port := range p.Ports {
				add(a, port.Number, port.Protocol)
			}
			add(a, wrongPort, topology.TCP)
			add(a, wrongPort, topology.UDP)
		}
	}
	for _, c := range lab.Clients {
		for _, a := range c.Addrs {
			add(a, 8080, topology.TCP)
		}
	}
	for _, s := range lab.Subnets {
		for _, a := range s.Gateways {
			add(a, 80, topology.TCP)
		}
	}
	for _, r := range lab.Routers {
		for _, a := range r.Addrs() {
			add(a, 80, topology.TCP)
			add(a, 80, topology.UDP)
		}
	}
	return out
}

// nodeAddresses are those of nodes on the underlay and on their bridges, and loopback.
func nodeAddresses(lab *topology.Lab) []netip.Addr {
	out := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	if len(lab.Network.PodCIDRs) > 1 {
		out = append(out, netip.IPv6Loopback())
	}
	for _, n := range lab.Nodes {
		out = append(out, n.Addrs...)
		for _, cidr := range n.PodCIDRs {
			out = append(out, cidr.Addr().Next())
		}
	}
	if a := lab.Network.DockerAddr(false); a.IsValid() {
		out = append(out, a)
	}
	return out
}

// meaning is what the API promises for a connection.
func (b *built) meaning(q question) []flow.Result {
	return sorted(meaning.Reach(b.lab, q.from, q.to, q.protocol))
}

// walked is what the rules do to a connection, on paper.
func walked(p trace.Prediction) []flow.Result {
	var out []flow.Result
	for _, e := range p.Results() {
		out = append(out, e.Value.Core())
	}
	return sorted(out)
}

func sorted(list []flow.Result) []flow.Result {
	slices.SortFunc(list, flow.Result.Compare)
	return slices.Compact(list)
}

// disputed returns the first connection on which meaning and rules differ.
func (b *built) disputed() (q question, found bool) {
	for _, q := range questions(b.lab) {
		if !slices.Equal(b.meaning(q), walked(b.world.Walk(q.flow()))) {
			return q, true
		}
	}
	return question{}, false
}

// shrink removes from a scenario everything that is not needed to keep it wrong.
func shrink(t testing.TB, b *built, wrong func(*built) bool) *built {
	t.Helper()
	for again := true; again; {
		again = false
		for _, s := range b.script.smaller() {
			less, err := s.build(t)
			if err == nil && wrong(less) {
				b, again = less, true
				break
			}
		}
	}
	return b
}

// dispute describes a case: all opinions, the scenario and the trace on paper.
func (b *built) dispute(q question, observed []flow.Result) string {
	p := b.world.Walk(q.flow())
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", q)
	for _, opinion := range []struct {
		who  string
		ends []flow.Result
	}{{"meaning", b.meaning(q)}, {"rules", walked(p)}, {"kernel", observed}} {
		for _, e := range opinion.ends {
			fmt.Fprintf(&text, "  %-8s %s\n", opinion.who, e)
		}
	}
	fmt.Fprintf(&text, "%s\n%s", b.script, render.Text(p, render.Brief))
	return text.String()
}

// In any lab the rules do what the services mean.
func TestRulesDoWhatServicesMean(t *testing.T) {
	var compared sync.Map
	t.Run("labs", func(t *testing.T) {
		for _, seed := range seeds(*labCount) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				b, err := randomScript(seed).build(t)
				if err != nil {
					t.Fatal(err)
				}
				compared.Store(seed, len(questions(b.lab)))
				if _, found := b.disputed(); !found {
					return
				}
				b = shrink(t, b, func(b *built) bool { _, found := b.disputed(); return found })
				q, _ := b.disputed()
				t.Errorf("-seed %d: %s", seed, b.dispute(q, nil))
			})
		}
	})
	total := 0
	compared.Range(func(_, n any) bool { total += n.(int); return true })
	t.Logf("%d connections", total)
}
