package expect

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk"
)

// Examples are, for each check by its name, a claim that holds in the world of Twins and one
// that does not. They are tried in judged_test.go.
var Examples = map[string]struct{ Right, Wrong Reach }{
	"outcome": {Reach{}, Reach{Outcome: flow.Refused}},
	"answer":  {Reach{Answers: []string{"one", "two"}}, Reach{Answers: []string{"one"}}},
	"sticky":  {Reach{Sticky: true, To: twin(1)}, Reach{Sticky: true}},
	"source":  {Reach{Sources: [][]netip.Prefix{prefixes("127.0.0.1/32")}}, Reach{Sources: [][]netip.Prefix{prefixes("10.0.0.0/8")}}},
	"forwarded": {
		Reach{To: twin(84), HTTP: &HTTP{Path: "/", Host: "shop.example"}, Forwarded: [][]netip.Prefix{prefixes("127.0.0.1/32")}},
		Reach{To: twin(84), HTTP: &HTTP{Path: "/", Host: "shop.example"}, Forwarded: [][]netip.Prefix{prefixes("10.0.0.0/8")}},
	},
	"ttl": {Reach{TTL: 64}, Reach{TTL: 63}},
	"spread": {
		Reach{Spread: &Spread{Tolerance: 0.1, Weights: map[string]float64{"one": 1, "two": 3}}},
		Reach{Spread: &Spread{Tolerance: 0.1}},
	},
	"http status": {Reach{HTTP: &HTTP{Path: "/", Status: 200}}, Reach{HTTP: &HTTP{Path: "/", Status: 404}}},
	"http header": {
		Reach{HTTP: &HTTP{Path: "/", Header: map[string]string{"Content-Type": "application/json", "Server": ""}}},
		Reach{HTTP: &HTTP{Path: "/", Header: map[string]string{"Server": "y"}}},
	},
	"seen": {
		Reach{HTTP: &HTTP{Path: "/", Seen: map[string]string{flow.SeenPath: "/", "X-Debug": ""}}},
		Reach{HTTP: &HTTP{Path: "/", Seen: map[string]string{flow.SeenPath: "/other"}}},
	},
	"latency":    {Reach{Latency: &Bound{Max: 1}}, Reach{Latency: &Bound{Min: 1}}},
	"throughput": {Reach{Throughput: &Bound{Max: 1e9}}, Reach{Throughput: &Bound{Min: 1e9}}},
	"mtu":        {Reach{MTU: 1500}, Reach{MTU: 1400}},
}

func TestEveryCheckHasExamples(t *testing.T) {
	for _, c := range checks {
		claim, known := Examples[c.name]
		if !known {
			t.Errorf("%s has no claims: add to Examples, in this file, a value that is right and one that is wrong", c.name)
		}
		for _, r := range []Reach{claim.Right, claim.Wrong} {
			r.From = []Place{{Name: "a"}}
			if known && len(c.wanted(&r, -1)) == 0 {
				t.Errorf("%s: %+v: the claim has no words (wanted)", c.name, r)
			}
		}
	}
	for name := range Examples {
		if !slices.ContainsFunc(checks, func(c check) bool { return c.name == name }) {
			t.Errorf("%q is not in the list of checks (check.go)", name)
		}
	}
}

// Measures reports whether a check, by its name, judges what only packets show.
func Measures(name string) bool {
	return slices.ContainsFunc(checks, func(c check) bool { return c.name == name && c.measure != nil })
}

func TestMain(m *testing.M) {
	for _, c := range checks {
		if c.wanted == nil || len(c.attributes) == 0 || c.each == nil && c.all == nil && c.measure == nil {
			fmt.Printf("the check %q needs wanted, attributes, and each, all or measure\n", c.name)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// What a check judges of a result is its part: results that it judges differently have
// different parts, or too few connections would be made to see both.
func TestPartsTellResultsApart(t *testing.T) {
	world := Twins()
	for _, c := range checks {
		if c.each == nil {
			continue
		}
		r := Examples[c.name].Right
		r.From = []Place{{Name: "a", Netns: "client.a"}}
		if r.To == nil {
			r.To = twin(80)
		}
		p, differ := r.Pairs()[0], 0
		for _, b := range world.Walk(p.Flow(0)).Branches {
			for i := range reflect.TypeFor[flow.Result]().NumField() {
				changed := b.Result
				reflect.ValueOf(&changed).Elem().Field(i).SetZero()
				_, before := c.each(&p, b.Result)
				if _, after := c.each(&p, changed); before == after {
					continue
				}
				if differ++; c.part == nil || c.part(b.Result) == c.part(changed) {
					t.Errorf("%s judges %s, but it is not its part", c.name, reflect.TypeFor[flow.Result]().Field(i).Name)
				}
			}
		}
		if differ == 0 {
			t.Errorf("%s judges nothing of a result", c.name)
		}
	}
}

func TestEveryCheckIsListed(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	for _, name := range sources {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		declared += len(regexp.MustCompile(`(?m)^var \w+Check = `).FindAll(text, -1))
	}
	if declared != len(checks) {
		t.Errorf("%d checks are declared, but %d are in the list of check.go", declared, len(checks))
	}
}

// twin is a port of the world of Twins.
func twin(port uint16) []Target {
	return []Target{{Name: "twins", Addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}}
}

// Twins is a host with two servers behind port 80, chosen at random. One of them answers
// half of the connections to port 82; the others are refused.
func Twins() *walk.World {
	rule := func(t iptables.Target, m ...iptables.Match) iptables.Rule {
		return iptables.Rule{Matches: m, Target: t}
	}
	tcp := iptables.Proto{Name: "tcp"}
	to := func(port uint16) iptables.Target {
		return iptables.DNAT{To: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}
	}
	return walk.New(&plan.Plan{Netns: []plan.Netns{{
		Name: "client.a",
		Tables: []iptables.Table{{Name: "nat", Chains: []iptables.Chain{{Name: "OUTPUT", Policy: "ACCEPT", Rules: []iptables.Rule{
			rule(to(1), tcp, iptables.DPort{Port: 80}, iptables.Random{Probability: 0.25}),
			rule(to(2), tcp, iptables.DPort{Port: 80}),
			rule(to(1), tcp, iptables.DPort{Port: 82}, iptables.Random{Probability: 0.5}),
			rule(to(1), tcp, iptables.DPort{Port: 83}, iptables.Random{Probability: 0.5}),
		}}}}, {Name: "filter", Chains: []iptables.Chain{{Name: "INPUT", Policy: "ACCEPT", Rules: []iptables.Rule{rule(iptables.Drop{}, tcp, iptables.DPort{Port: 83})}}}}},
		Agents: []occupant.Agent{{Name: "one", Listen: []occupant.Listen{{Protocol: "tcp", Port: 1}}}, {Name: "two", Listen: []occupant.Listen{{Protocol: "tcp", Port: 2}}},
			{Name: "ingress", Listen: []occupant.Listen{{Protocol: "tcp", Port: 84}}, Ingress: occupant.Ingress{HTTP: 84}}},
		Routing: []httproute.Route{{Host: "shop.example", Path: "/", Match: httproute.Prefix, Backends: []httproute.Backend{{Weight: 1, Endpoints: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}}}}},
	}}})
}
