package trial

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
)

// half is a claim about port 82 of twins: half of the connections are refused.
func half(r expect.Reach) *expect.Reach {
	r.From, r.To = []expect.Place{{Name: "a", Netns: "client.a"}}, twin(82)
	return &r
}

var (
	answered1 = flow.Observation{Outcome: flow.Connected, Answer: "one", Source: netip.MustParseAddrPort("127.0.0.1:4711"), TTL: 64}
	refused1  = flow.Observation{Outcome: flow.Refused}
	lost1     = flow.Observation{Outcome: flow.Timeout}
)

// What can be otherwise fails, whatever packets happen to show, and names the branch.
func TestAClaimIsAboutEveryConnection(t *testing.T) {
	for outcome, lucky := range map[flow.Outcome]flow.Observation{flow.Connected: answered1, flow.Refused: refused1} {
		trial := New(half(expect.Reach{Outcome: outcome}), twins())
		seen := slices.Repeat([]flow.Observation{lucky}, len(trial.Flows()))
		v := trial.Judge(seen)
		if v.OK || !strings.Contains(v.Pairs[0].Predicted, "outside the claim: 50 %") {
			t.Errorf("%s: ok %v, predicted %q", outcome, v.OK, v.Pairs[0].Predicted)
		}
	}
}

func TestEnoughConnectionsToSeeEachBranch(t *testing.T) {
	for _, row := range []struct {
		name  string
		reach expect.Reach
		port  uint16
		want  int
	}{
		{"half of them", expect.Reach{}, 82, 31},
		{"not fewer if a count is written", expect.Reach{Count: 5}, 82, 31},
		{"more if a count is written", expect.Reach{Count: 50}, 82, 50},
		{"half of the packets", expect.Reach{Sometimes: true, Within: time.Second}, 83, 31},
		{"branches that the claim does not tell apart", expect.Reach{}, 80, 1},
		{"branches that it tells apart", expect.Reach{Answers: []string{"two"}}, 80, 73},
	} {
		r := half(row.reach)
		r.To = twin(row.port)
		if got := len(New(r, twins()).Flows()); got != row.want {
			t.Errorf("%s: %d connections, want %d", row.name, got, row.want)
		}
	}
}

func TestOnlyTheImpossibleIsDialedAgain(t *testing.T) {
	trial := New(half(expect.Reach{}), twins())
	n := len(trial.Flows())
	seen := append(slices.Repeat([]flow.Observation{answered1, refused1}, n/2), lost1)
	v := trial.Judge(seen)
	if again := trial.Again(v, seen, 0); !slices.Equal(again, []int{n - 1}) {
		t.Fatalf("dial again %v, want only the last", again)
	}
	trial.Redialed([]int{n - 1})
	seen[n-1] = answered1
	v = trial.Judge(seen)
	if again := trial.Again(v, seen, 1); v.OK || v.Disagrees || len(again) > 0 {
		t.Errorf("%+v, dial again %v", v, again)
	}
	if p := v.Pairs[0]; p.Connections != n || p.Again != 1 {
		t.Errorf("%d connections, %d dialed again", p.Connections, p.Again)
	}
}

// Shares that are off by chance in one of a billion runs are given further chances, too.
func TestUnlikelySharesAreDialedAgain(t *testing.T) {
	trial := New(half(expect.Reach{Mix: map[flow.Outcome]float64{flow.Connected: 1, flow.Refused: 1}}), twins())
	n := len(trial.Flows())
	seen := slices.Concat(slices.Repeat([]flow.Observation{answered1}, n/4), slices.Repeat([]flow.Observation{refused1}, n-n/4))
	v := trial.Judge(seen)
	if v.OK || v.Disagrees || len(trial.Again(v, seen, 0)) != n || len(trial.Again(v, seen, Confirmations)) > 0 {
		t.Errorf("%+v", v)
	}
}

// What should have been seen is given further chances, but not many.
func TestWhatNeverHappensDisagrees(t *testing.T) {
	trial := New(half(expect.Reach{}), twins())
	seen := slices.Repeat([]flow.Observation{answered1}, len(trial.Flows()))
	v := trial.Judge(seen)
	if !v.Disagrees || len(trial.Again(v, seen, 0)) != len(seen) || len(trial.Again(v, seen, Confirmations)) > 0 {
		t.Errorf("%+v", v)
	}
}

// A packet that is dropped where rules choose takes its chances anew when it is sent again.
func TestWhereRulesChooseAPacketIsSentOnce(t *testing.T) {
	for port, once := range map[uint16]bool{80: false, 82: false, 83: true} {
		r := half(expect.Reach{Sometimes: true, Within: 2500 * time.Millisecond})
		r.To = twin(port)
		if f := New(r, twins()).Flows()[0]; f.Once != once {
			t.Errorf("port %d: once %v, want %v", port, f.Once, once)
		}
	}
}

func TestFlowsOfEachPairFollowEachOther(t *testing.T) {
	r := expect.Reach{From: []expect.Place{laptop, pod}, To: []expect.Target{node1, lost, node2}, Count: 2, Within: time.Second, Protocol: flow.UDP}
	want := []struct{ From, To, N int }{{0, 0, 0}, {0, 0, 1}, {0, 2, 0}, {0, 2, 1}, {1, 0, 0}, {1, 0, 1}, {1, 2, 0}, {1, 2, 1}}
	flows := New(&r, nil).Flows()
	if len(flows) != len(want) {
		t.Fatalf("got %v", flows)
	}
	for i, f := range flows {
		want := flow.Flow{From: r.From[want[i].From].Netns, To: r.To[want[i].To].Addr, Protocol: flow.UDP, Within: time.Second}
		if f != want {
			t.Errorf("flow %d is %v, want %v", i, f, want)
		}
	}
}
