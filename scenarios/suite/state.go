package suite

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/expect/trial"
)

// stateOnPaper judges what an expectation claims of hosts on a plan, and on the paths of its
// connections there.
func stateOnPaper(w world, forecasts []trial.Forecast, e *expect.Reach) (rows []reports.Row) {
	for _, c := range e.State {
		v, paths := predictState(w, forecasts, c)
		rows = append(rows, trial.Found(c, v, nil, paths))
	}
	return rows
}

// explainState adds to claims about hosts that do not hold the command that shows more: the path of
// a connection, or the rules of the host.
func (l *Lab) explainState(rows []reports.Row, e *expect.Reach, forecasts []trial.Forecast) {
	for i, c := range e.State {
		if rows[i].OK || l.Args == "" {
			continue
		}
		_, rules := c.(*state.Rules)
		switch {
		case c.PerConnection() && len(forecasts) > 0 && len(forecasts[0].Prediction.Branches) > 0:
			rows[i].Explain = l.explainCommand(forecasts[0].Who, forecasts[0].Prediction.Flow, e.During)
		case rules && e.During == nil:
			rows[i].Explain = "netlab rules " + l.Args + " " + c.On().Name
		}
	}
}

// predictState is what paper says of a claim about a host, and in how many paths.
func predictState(w world, forecasts []trial.Forecast, c state.Claim) (state.Verdict, int) {
	p := w.onPaper
	lines := func(netns string) []state.Line { return linesOf(netnsOf(p, netns)) }
	views, unknown := []state.View{viewOf(netnsOf(p, c.On().Netns), c)}, ""
	if c.PerConnection() {
		counts := func(netns string, f trial.Forecast, branch int) []flow.Count {
			return countsOn(netnsOf(p, netns), f, branch)
		}
		views, unknown = trial.ViewsOnPaper(forecasts, counts, lines, c)
	}
	if unknown != "" {
		return state.Verdict{Unknown: unknown}, len(views)
	}
	v := c.Judge(views)
	if r, ok := c.(*state.Rules); ok && agentWrites(w.plan, c) && (r.Absent || len(v.Wrong) > 0) {
		return state.Verdict{Unknown: "what the agent on " + r.Name + " writes"}, len(views)
	}
	if madeInside(w.plan, c, len(v.Wrong) > 0) {
		return state.Verdict{Unknown: "what programs on " + c.On().Name + " make"}, len(views)
	}
	return v, len(views)
}

// madeInside reports whether a claim about interfaces or routes that holds since something is not in
// the plan, or does not hold, may be otherwise by what a program makes.
func madeInside(built *plan.Plan, c state.Claim, wrong bool) bool {
	switch c := c.(type) {
	case *state.Interface:
		wrong = wrong || c.Absent
	case *state.ToRoute:
		wrong = wrong || c.Absent
	default:
		return false
	}
	n := netnsOf(built, c.On().Netns)
	return wrong && n != nil && n.ChangedFromInside()
}

// agentWrites reports whether a claim is about the rules of a host where an agent writes some that
// no plan has.
func agentWrites(built *plan.Plan, c state.Claim) bool {
	r, ok := c.(*state.Rules)
	if !ok {
		return false
	}
	n := netnsOf(built, r.Netns)
	return n != nil && n.HasAgent()
}

// viewOf is what a claim that is not about connections sees of a namespace, planned or read.
func viewOf(n *plan.Netns, c state.Claim) (v state.View) {
	if n == nil {
		return v
	}
	switch c.(type) {
	case *state.Rules:
		v.Lines = linesOf(n)
	case *state.Interface:
		for _, l := range n.Links {
			link := state.Link{Name: l.Name, Type: string(l.Type), Master: l.Master, MTU: l.MTU, Up: !l.Down}
			for _, a := range n.Addrs {
				if a.Link == l.Name {
					link.Addrs = append(link.Addrs, a.Prefix)
				}
			}
			v.Links = append(v.Links, link)
		}
	case *state.ToRoute:
		for _, r := range n.Routes {
			if r.Local {
				continue
			}
			x := state.Route{To: r.To, Dev: r.Dev, Type: "unicast"}
			if r.Type != plan.Unicast {
				x.Type = string(r.Type)
			}
			if r.Via.IsValid() {
				x.Via = append([]netip.Addr{r.Via}, r.More...)
			}
			v.Routes = append(v.Routes, x)
		}
	}
	return v
}

// linesOf are the rules of a namespace as their tools print them.
func linesOf(n *plan.Netns) (lines []state.Line) {
	if n == nil {
		return nil
	}
	for _, s := range n.Saved() {
		lines = append(lines, state.Line(s))
	}
	return lines
}

// countsOn are what the rules of a namespace count on a path. What the table nat counts is known,
// since it sees the first packet only, and so is all that datagrams do. Whether it sees those of a
// tunnel depends on what the tunnel carried before.
func countsOn(n *plan.Netns, f trial.Forecast, branch int) (counts []flow.Count) {
	if n == nil {
		return nil
	}
	type place struct {
		ipv6         bool
		table, chain string
		rule         int
	}
	rules := map[place]plan.Saved{}
	n.EachRule(func(l plan.Listed) {
		if l.Rule == "" || l.Chain == "" || l.Set != "" {
			return
		}
		at := place{l.IPv6, l.Table, l.Chain, 1}
		if l.Family != "" {
			at = place{false, l.Family + " " + l.Table, l.Chain, 1}
		}
		for _, used := rules[at]; used; _, used = rules[at] {
			at.rule++
		}
		rules[at] = l.Saved()
	})
	b := &f.Prediction.Branches[branch]
	for _, h := range b.Hits {
		if h.Netns != n.Name {
			continue
		}
		s, known := rules[place{h.IPv6, h.Table, h.Chain, h.Rule}]
		if !known {
			s = rules[place{false, h.Table, h.Chain, h.Rule}]
		}
		c := flow.Count{Netns: n.Name, Tool: s.Tool, Table: s.Table, Chain: s.Chain, Rule: s.Text, Packets: 1,
			AtLeast: h.Tunnel || b.Outcome != flow.Connected || h.Table != "nat" && f.Prediction.Flow.Protocol != flow.UDP}
		if h.Tunnel && h.Table == "nat" {
			c.Packets = 0
		}
		counts = append(counts, c)
	}
	return counts
}

// wherever are the hosts of claims of a kind, none twice.
func wherever[T state.Claim](e *expect.Reach, fits func(T) bool) (names []string) {
	for _, c := range e.State {
		if x, ok := c.(T); ok && fits(x) && !slices.Contains(names, x.On().Netns) {
			names = append(names, x.On().Netns)
		}
	}
	return names
}
