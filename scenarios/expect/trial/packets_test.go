package trial

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
)

var (
	laptop = expect.Place{Name: "laptop", Netns: "client.laptop", Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.100")}}
	pod    = expect.Place{Name: "web-0", Netns: "pod.web-0", Addrs: []netip.Addr{netip.MustParseAddr("10.244.1.2")}}
	node1  = expect.Target{Name: "192.168.0.11:31380", Addr: netip.MustParseAddrPort("192.168.0.11:31380")}
	node2  = expect.Target{Name: "192.168.0.12:31380", Addr: netip.MustParseAddrPort("192.168.0.12:31380")}
	lost   = expect.Target{Name: "nowhere:80", NotFound: true}
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// connected is a connection that an agent on node1 answered.
func connected(agent, source string) flow.Observation {
	return flow.Observation{
		Outcome: flow.Connected, Answer: agent, Node: "node1",
		Source: netip.AddrPortFrom(netip.MustParseAddr(source), 40000),
	}
}

func times(n int, s flow.Observation) []flow.Observation {
	return slices.Repeat([]flow.Observation{s}, n)
}

const home = "192.168.0.100"

func TestJudgeOfOnePair(t *testing.T) {
	timeout := flow.Observation{Outcome: flow.Timeout}
	mute := flow.Observation{Outcome: flow.Connected}
	oneOf := func(names ...string) expect.Reach { return expect.Reach{Answers: names, Count: 4} }
	from := func(texts ...string) expect.Reach { return expect.Reach{Sources: [][]netip.Prefix{prefixes(texts...)}} }
	spread := func(s expect.Spread) expect.Reach {
		return expect.Reach{Answers: []string{"a", "b"}, Count: 100, Spread: &s}
	}
	tests := []struct {
		name     string
		in       expect.Reach
		seen     []flow.Observation
		ok       bool
		observed string
	}{
		{"as wanted", expect.Reach{}, times(1, connected("a", home)), true, "connected, answered by a, seen as 192.168.0.100"},
		{"any server, even without a name", expect.Reach{}, times(1, mute), true, "connected"},
		{"silence instead of an answer", expect.Reach{}, times(1, timeout), false, "timeout"},
		{"an answer instead of silence", expect.Reach{Outcome: flow.Timeout}, times(1, connected("a", home)), false,
			"connected, answered by a, seen as 192.168.0.100"},
		{"silence as wanted", expect.Reach{Outcome: flow.Timeout}, times(1, timeout), true, "timeout"},
		{"refused is not silence", expect.Reach{Outcome: flow.Timeout}, times(1, flow.Observation{Outcome: flow.Refused}), false, "refused"},
		{"the probe broke", expect.Reach{Outcome: flow.Timeout}, times(1, flow.Observation{Outcome: flow.Failed, Err: "no such netns"}), false,
			"failed: no such netns"},
		{"one of many is silent", expect.Reach{Count: 3}, append(times(2, connected("a", home)), timeout), false,
			"connected (2 of 3), timeout (1 of 3), answered by a, seen as 192.168.0.100"},
		{"each answers", oneOf("a", "b"), append(times(3, connected("a", home)), connected("b", home)), true,
			"connected, answered by a (3) and b (1), seen as 192.168.0.100"},
		{"one never answers", oneOf("a", "b"), times(4, connected("a", home)), false,
			"connected, answered by a, seen as 192.168.0.100; no answer from b in 4 connections"},
		{"another agent answers", oneOf("a"), append(times(3, connected("a", home)), connected("b", home)), false,
			"connected, answered by a (3) and b (1), seen as 192.168.0.100; b should not answer"},
		{"an answer without a name", oneOf("a"), append(times(3, connected("a", home)), mute), false,
			"connected, answered by a, seen as 192.168.0.100; the server does not say who it is"},
		{"none of the many answers", oneOf("a", "b"), times(4, timeout), false, "timeout"},
		{"source is the dialer", from(home + "/32"), times(1, connected("a", home)), true,
			"connected, answered by a, seen as 192.168.0.100"},
		{"source is another", from(home+"/32", "fd00::/64"), times(1, connected("a", "10.244.1.1")), false,
			"connected, answered by a, seen as 10.244.1.1; 10.244.1.1 is not an allowed source"},
		{"source in a prefix, mapped", from("10.244.0.0/16"), times(1, connected("a", "::ffff:10.244.1.1")), true,
			"connected, answered by a, seen as 10.244.1.1"},
		{"source unknown", from("0.0.0.0/0"), times(1, mute), false, "connected; the server does not report the source"},
		{"balanced", spread(expect.Spread{Tolerance: 0.2}), append(times(40, connected("a", home)), times(60, connected("b", home))...), true,
			"connected, answered by a (40) and b (60), seen as 192.168.0.100"},
		{"unbalanced", spread(expect.Spread{Tolerance: 0.2}), append(times(39, connected("a", home)), times(61, connected("b", home))...), false,
			"connected, answered by a (39) and b (61), seen as 192.168.0.100; " +
				"a has 39.0 % of the answers, not 50.0 %; b has 61.0 % of the answers, not 50.0 %"},
		{"by weights", spread(expect.Spread{Tolerance: 0.2, Weights: map[string]float64{"a": 1, "b": 3}}),
			append(times(25, connected("a", home)), times(75, connected("b", home))...), true,
			"connected, answered by a (25) and b (75), seen as 192.168.0.100"},
		{"a share of nothing", spread(expect.Spread{Tolerance: 0.2, Weights: map[string]float64{"a": 1}}), times(100, connected("a", home)), true,
			"connected, answered by a, seen as 192.168.0.100"},
		{"more than a share of nothing", spread(expect.Spread{Tolerance: 0.2, Weights: map[string]float64{"a": 1}}),
			append(times(99, connected("a", home)), connected("b", home)), false,
			"connected, answered by a (99) and b (1), seen as 192.168.0.100; b has 1.0 % of the answers, not 0.0 %"},
		{"balanced over any agents", expect.Reach{Count: 10, Spread: &expect.Spread{Tolerance: 0.1}},
			append(times(5, connected("x", home)), times(5, connected("y", home))...), true,
			"connected, answered by x (5) and y (5), seen as 192.168.0.100"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.From, tt.in.To = []expect.Place{laptop}, []expect.Target{node1}
			v := New(&tt.in, nil).Judge(tt.seen)
			if v.OK != tt.ok || v.Pairs[0].OK != tt.ok || v.Pairs[0].Observed != tt.observed {
				t.Errorf("got  %v %s\nwant %v %s", v.OK, v.Pairs[0].Observed, tt.ok, tt.observed)
			}
			if again := New(&tt.in, nil).Again(v, tt.seen, 0); (len(again) == 0) != tt.ok {
				t.Errorf("dial again %v", again)
			}
		})
	}
}

func TestEachPairIsJudgedAlone(t *testing.T) {
	r := expect.Reach{
		From: []expect.Place{laptop, pod}, To: []expect.Target{node1, node2}, Answers: []string{"a", "b"}, Count: 2,
		Sources: [][]netip.Prefix{prefixes(home + "/32"), prefixes("10.244.1.2/32")},
	}
	a, b := connected("a", home), connected("b", home)
	pa, pb := connected("a", "10.244.1.2"), connected("b", "10.244.1.2")
	seen := []flow.Observation{a, b, a, a, pa, pb, b, pa}
	v := New(&r, nil).Judge(seen)
	want := []struct {
		who, to, wanted string
		ok              bool
	}{
		{"laptop", node1.Name, "connected, answered by each of a and b, seen as 192.168.0.100", true},
		{"laptop", node2.Name, "connected, answered by each of a and b, seen as 192.168.0.100", false},
		{"web-0", node1.Name, "connected, answered by each of a and b, seen as 10.244.1.2", true},
		{"web-0", node2.Name, "connected, answered by each of a and b, seen as 10.244.1.2", false},
	}
	for i, w := range want {
		if p := v.Pairs[i]; p.Who != w.who || p.To != w.to || p.Wanted != w.wanted || p.OK != w.ok {
			t.Errorf("pair %d: got %+v, want %+v", i, p, w)
		}
	}
	if again := New(&r, nil).Again(v, seen, 0); v.OK || !slices.Equal(again, []int{2, 3, 6, 7}) {
		t.Errorf("ok %v, dial again %v; want the second and the fourth pair", v.OK, again)
	}
	for i, s := range map[int]flow.Observation{2: b, 3: a, 6: pb, 7: pa} {
		seen[i] = s
	}
	if v := New(&r, nil).Judge(seen); !v.OK || len(New(&r, nil).Again(v, seen, 0)) > 0 {
		t.Errorf("not ok after the second try: %+v", v)
	}
}

func TestANameThatDoesNotResolve(t *testing.T) {
	for outcome, ok := range map[flow.Outcome]bool{flow.DNS: true, flow.Connected: false, flow.Timeout: false} {
		r := expect.Reach{From: []expect.Place{laptop}, To: []expect.Target{lost}, Outcome: outcome}
		v := New(&r, nil).Judge(nil)
		if v.OK != ok || v.Pairs[0].Outcomes[0].Outcome != flow.DNS || len(New(&r, nil).Again(v, nil, 0)) > 0 {
			t.Errorf("%s: %+v", outcome, v)
		}
	}
}

func TestRowsAreThePairs(t *testing.T) {
	r := expect.Reach{From: []expect.Place{laptop}, To: []expect.Target{node1}}
	rows := New(&r, nil).Judge(times(1, connected("a", home))).Rows()
	if len(rows) != 1 || rows[0].Who != "laptop" || !rows[0].OK || rows[0].Answers[0].Name != "a" {
		t.Errorf("got %+v", rows)
	}
}

func TestStickyClientsGetOneAnswer(t *testing.T) {
	a, b := connected("a", home), connected("b", home)
	tests := []struct {
		name string
		in   expect.Reach
		seen []flow.Observation
		ok   bool
	}{
		{"one of two", expect.Reach{Answers: []string{"a", "b"}}, times(31, b), true},
		{"any agent, but always the same", expect.Reach{}, times(31, a), true},
		{"two alternate", expect.Reach{Answers: []string{"a", "b"}}, append(times(30, a), b), false},
		{"another agent", expect.Reach{Answers: []string{"a"}}, times(31, b), false},
		{"no server has a name", expect.Reach{}, times(31, flow.Observation{Outcome: flow.Connected}), false},
		{"one is lost", expect.Reach{}, append(times(30, a), flow.Observation{Outcome: flow.Timeout}), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Sticky, tt.in.From, tt.in.To = true, []expect.Place{laptop}, []expect.Target{node1}
			if v := New(&tt.in, nil).Judge(tt.seen); v.OK != tt.ok {
				t.Errorf("ok %v: %s", v.OK, v.Pairs[0].Observed)
			}
		})
	}
}

func TestHTTPResponses(t *testing.T) {
	seen := flow.Observation{Outcome: flow.Connected, Status: 503, Header: map[string]string{"x-weight": "0"}}
	tests := []struct {
		name string
		in   expect.HTTP
		seen flow.Observation
		ok   bool
	}{
		{"any", expect.HTTP{}, seen, true},
		{"status", expect.HTTP{Status: 503}, seen, true},
		{"another status", expect.HTTP{Status: 200}, seen, false},
		{"header", expect.HTTP{Header: map[string]string{"X-Weight": "0"}}, seen, true},
		{"another header", expect.HTTP{Header: map[string]string{"X-Weight": "1"}}, seen, false},
		{"no header", expect.HTTP{Header: map[string]string{"X-Height": "0"}}, seen, false},
		{"no HTTP", expect.HTTP{}, flow.Observation{Outcome: flow.Connected}, false},
		{"no answer", expect.HTTP{}, flow.Observation{Outcome: flow.Timeout}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Path = "/healthz"
			r := expect.Reach{From: []expect.Place{laptop}, To: []expect.Target{node1}, HTTP: &tt.in}
			f := New(&r, nil).Flows()
			if len(f) != 1 || f[0].Path != "/healthz" {
				t.Fatalf("flows %v", f)
			}
			tt.seen.Flow = f[0]
			if v := New(&r, nil).Judge([]flow.Observation{tt.seen}); v.OK != tt.ok {
				t.Errorf("ok %v: %s", v.OK, v.Pairs[0].Observed)
			}
		})
	}
}

func TestConnectionsTakeTurnsOverTheAddressesOfAName(t *testing.T) {
	r := expect.Reach{From: []expect.Place{laptop}, To: []expect.Target{{Name: "service db:80", Addr: node1.Addr, Also: []netip.AddrPort{node2.Addr}}}}
	var got []netip.AddrPort
	for _, f := range New(&r, nil).Flows() {
		got = append(got, f.To)
	}
	if !slices.Equal(got, []netip.AddrPort{node1.Addr, node2.Addr}) {
		t.Errorf("got %v", got)
	}
}
