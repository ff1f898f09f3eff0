package expect

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

var (
	laptop = Place{Name: "laptop", Netns: "client.laptop", Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.100")}}
	pod    = Place{Name: "web-0", Netns: "pod.web-0", Addrs: []netip.Addr{netip.MustParseAddr("10.244.1.2")}}
	node1  = Target{Name: "192.168.0.11:31380", Addr: netip.MustParseAddrPort("192.168.0.11:31380")}
	node2  = Target{Name: "192.168.0.12:31380", Addr: netip.MustParseAddrPort("192.168.0.12:31380")}
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestConnectionsSufficeForTheClaim(t *testing.T) {
	agents := func(n int) []string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint("web-", i))
		}
		return names
	}
	tests := []struct {
		name string
		in   Reach
		want int
	}{
		{"anybody", Reach{}, 1},
		{"one agent", Reach{Answers: agents(1)}, 1},
		{"two agents", Reach{Answers: agents(2)}, 31},   // 2·2⁻³¹ = 9.3e-10
		{"three agents", Reach{Answers: agents(3)}, 54}, // 3·(2/3)⁵⁴ = 9.3e-10
		{"count wins", Reach{Answers: agents(3), Count: 7}, 7},
		{"agents do not count where none should answer", Reach{Answers: agents(3), Outcome: flow.Timeout}, 1},
		{"spread over two", Reach{Answers: agents(2), Spread: &Spread{Tolerance: 0.3}}, 400},
		{"spread over one", Reach{Answers: agents(1), Spread: &Spread{Tolerance: 0.3}}, 1},
		{"spread by weights", Reach{Spread: &Spread{Tolerance: 0.5, Weights: map[string]float64{"a": 3, "b": 1}}}, 432},
		{"spread over the unknown", Reach{Spread: &Spread{Tolerance: 0.5}}, 1000},
		{"wide tolerance still sees all", Reach{Answers: agents(2), Spread: &Spread{Tolerance: 5}}, 31},
		{"no tolerance terminates", Reach{Answers: agents(2), Spread: &Spread{}}, 31},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.in.Connections(); got != tt.want {
				t.Errorf("%d connections, want %d", got, tt.want)
			}
		})
	}
}

func TestConnectionsAreTheFewestThatSuffice(t *testing.T) {
	for k := 2; k <= 60; k++ {
		r := Reach{}
		for i := range k {
			r.Answers = append(r.Answers, fmt.Sprint(i))
		}
		missing := func(n int) float64 { return float64(k) * math.Pow(1-1/float64(k), float64(n)) }
		if n := r.Connections(); missing(n) >= 1e-9 || missing(n-1) < 1e-9 {
			t.Errorf("%d agents: %d connections miss one with %g, one fewer with %g", k, n, missing(n), missing(n-1))
		}
	}
}

func TestDescribe(t *testing.T) {
	tests := []struct {
		in   Reach
		want string
	}{
		{Reach{From: []Place{laptop}, To: []Target{node1}}, "laptop to 192.168.0.11:31380 over tcp: connected"},
		{
			Reach{From: []Place{laptop}, To: []Target{node2}, Outcome: flow.Timeout, Protocol: flow.UDP, Answers: []string{"x"}},
			"laptop to 192.168.0.12:31380 over udp: timeout",
		},
		{
			Reach{
				From: []Place{laptop, pod}, To: []Target{node1, node2}, Answers: []string{"web-0", "web-1", "web-2"},
				Sources: [][]netip.Prefix{prefixes("192.168.0.100/32"), prefixes("10.244.0.0/16", "192.168.0.100/32")},
				Spread:  &Spread{Tolerance: 0.25},
			},
			"laptop and web-0 to 192.168.0.11:31380 and 192.168.0.12:31380 over tcp: connected, " +
				"answered by each of web-0, web-1 and web-2, seen as 192.168.0.100 or 10.244.0.0/16, shares within 25 %",
		},
	}
	for _, tt := range tests {
		if got := tt.in.Describe(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
