package trial

import (
	"fmt"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// ByName follows a connection and, before it, the lookup of its name, if it has one. What the
// lookup can lead to besides an answer are branches that end there.
func ByName(w *walk.World, f flow.Flow) trace.Prediction {
	if f.Lookup == nil {
		return w.Walk(f)
	}
	p := trace.Prediction{Flow: f}
	// Servers are asked in turn until one answers, with a query of its own.
	unanswered := []trace.Branch{{Probability: 1, Result: flow.Result{Outcome: flow.DNS}, Why: "it has no name server"}}
	answered := 0.0
	for _, server := range f.Lookup.Servers {
		asked := weight(unanswered)
		if asked == 0 {
			break // those before always answer
		}
		query := w.Walk(flow.Flow{From: f.From, To: server, Protocol: flow.UDP, Within: f.Within})
		p.Asked = append(p.Asked, query)
		var left []trace.Branch
		for _, b := range query.Branches {
			b.Probability *= asked
			switch {
			case b.Outcome != flow.Connected:
				b.Why = fmt.Sprintf("no answer from the name server %s: %s", server, b.Why)
				b.Result = flow.Result{Outcome: flow.DNS}
				left = append(left, b)
			case !w.NameServer(b.Answer):
				b.Result, b.Assumed = flow.Result{Outcome: flow.DNS}, true
				b.Why = fmt.Sprintf("what %s answers to a DNS query is not in the plan", b.Answer)
				p.Branches = append(p.Branches, b)
			default:
				answered += b.Probability
			}
		}
		unanswered = left
	}
	p.Branches = append(p.Branches, unanswered...)
	if answered > 0 {
		f.Lookup = nil
		for _, b := range w.Walk(f).Branches {
			b.Probability *= answered
			p.Branches = append(p.Branches, b)
		}
	}
	return p
}

func weight(branches []trace.Branch) (sum float64) {
	for _, b := range branches {
		sum += b.Probability
	}
	return sum
}
