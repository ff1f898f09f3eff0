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
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
)

// claims are, for each check by its name, a claim that holds in the world of twins and one
// that does not.
var claims = map[string]struct{ right, wrong Reach }{
	"outcome": {Reach{}, Reach{Outcome: flow.Refused}},
	"answer":  {Reach{Answers: []string{"one", "two"}}, Reach{Answers: []string{"one"}}},
	"sticky":  {Reach{Sticky: true, To: twin(1)}, Reach{Sticky: true}},
	"source":  {Reach{Sources: [][]netip.Prefix{prefixes("127.0.0.1/32")}}, Reach{Sources: [][]netip.Prefix{prefixes("10.0.0.0/8")}}},
	"ttl":     {Reach{TTL: 64}, Reach{TTL: 63}},
	"spread": {
		Reach{Spread: &Spread{Tolerance: 0.1, Weights: map[string]float64{"one": 1, "two": 3}}},
		Reach{Spread: &Spread{Tolerance: 0.1}},
	},
	"http status": {Reach{HTTP: &HTTP{Path: "/", Status: 200}}, Reach{HTTP: &HTTP{Path: "/", Status: 404}}},
	"http header": {
		Reach{HTTP: &HTTP{Path: "/", Header: map[string]string{"Server": "x"}}},
		Reach{HTTP: &HTTP{Path: "/", Header: map[string]string{"Server": "y"}}},
	},
	"latency":    {Reach{Latency: &Bound{Max: 1}}, Reach{Latency: &Bound{Min: 1}}},
	"throughput": {Reach{Throughput: &Bound{Max: 1e9}}, Reach{Throughput: &Bound{Min: 1e9}}},
	"mtu":        {Reach{MTU: 1500}, Reach{MTU: 1400}},
}

// A wrong value must fail whatever the evidence is, and paper must name what it cannot
// judge.
func TestEveryCheckJudgesPacketsAndPaper(t *testing.T) {
	world := twins()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			claim, known := claims[c.name]
			if !known {
				t.Fatalf("no claims: add to %q, in this file, a value that is right and one that is wrong", "claims")
			}
			for ok, r := range map[bool]Reach{true: claim.right, false: claim.wrong} {
				r.From, r.Count = []Place{{Name: "a", Netns: "client.a"}}, 400
				if r.To == nil {
					r.To = twin(80)
				}
				if len(c.wanted(&r, -1)) == 0 {
					t.Errorf("%+v: the claim has no words (wanted)", r)
				}
				if v := r.Try(nil).Judge(asPredicted(&r, world)); v.OK != ok {
					t.Errorf("packets: %v, want %v: %s", v.OK, ok, v.Pairs[0].Observed)
				}
				if c.measure != nil {
					if !slices.Contains(r.Unpredicted(), c.name) {
						t.Errorf("on paper %s is not named as not judged", c.name)
					}
					continue
				}
				if f := r.Predict(world)[0]; f.OK != ok || len(r.Unpredicted()) > 0 {
					t.Errorf("paper: %v, want %v: %q, not predicted %q", f.OK, ok, f.Wrong, r.Unpredicted())
				}
			}
		})
	}
	for name := range claims {
		if !slices.ContainsFunc(checks, func(c check) bool { return c.name == name }) {
			t.Errorf("%q is not in the list of checks (check.go)", name)
		}
	}
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
	world := twins()
	for _, c := range checks {
		if c.each == nil {
			continue
		}
		r := claims[c.name].right
		r.From = []Place{{Name: "a", Netns: "client.a"}}
		if r.To == nil {
			r.To = twin(80)
		}
		p, differ := r.pairs()[0], 0
		for _, b := range world.Walk(p.flow(Dial{})).Branches {
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

// twin is a port of the world of twins.
func twin(port uint16) []Target {
	return []Target{{Name: "twins", Addr: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)}}
}

// asPredicted is what packets show of the flows if the world behaves as the walker predicts.
func asPredicted(r *Reach, w *walk.World) []flow.Observation {
	var all []flow.Observation
	for i, f := range r.Try(nil).Flows() {
		o := flow.Observation{Flow: f, RoundTrip: time.Millisecond, Rate: 1e6, MTU: 1500, Header: map[string]string{"server": "x"}}
		at := (float64(i) + 0.5) / float64(r.Connections())
		for _, b := range w.Walk(f).Branches {
			if at -= b.Probability; at < 0 {
				o.Outcome, o.Answer, o.Node, o.TTL, o.Status = b.Outcome, b.Answer, b.Node, b.TTL, b.Status
				o.Source = netip.AddrPortFrom(b.Source, 40000)
				break
			}
		}
		all = append(all, o)
	}
	return all
}
