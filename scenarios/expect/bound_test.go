package expect

import (
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
)

// A program may leave a datagram unanswered: that is not fast.
func TestSilenceIsNotMeasured(t *testing.T) {
	r := &Reach{From: []Place{{Name: "a"}}, To: twin(53), Protocol: flow.UDP, Outcome: flow.Connected, Latency: &Bound{Max: 1}}
	silent := slices.Repeat([]flow.Observation{{Outcome: flow.Connected}}, pings)
	if _, wrong, _ := r.Pairs()[0].Measure(silent, nil); len(wrong) != 1 {
		t.Errorf("without an answer: %q", wrong)
	}
	for i := range silent {
		silent[i].RoundTrip = time.Millisecond
	}
	if _, wrong, _ := r.Pairs()[0].Measure(silent, nil); len(wrong) != 0 {
		t.Errorf("with answers: %q", wrong)
	}
}
