package suite

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/reports"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/expect/trial"
)

// watch makes the connections of an expectation one after the other, and looks at each where
// claims say.
func watch(ctx context.Context, lab *engine.Client, e *expect.Reach, flows []flow.Flow) ([]flow.Observation, []flow.Sight, error) {
	w := engine.Watch{Flows: flows, Tracked: wherever(e, func(*state.Tracked) bool { return true }),
		Counted: wherever(e, (*state.Rules).PerConnection)}
	for _, c := range e.State {
		if s, ok := c.(*state.Seen); ok {
			if at := (plan.Peer{Netns: s.Netns, Link: s.Link}); !slices.Contains(w.Links, at) {
				w.Links = append(w.Links, at)
			}
		}
	}
	return lab.Watch(ctx, w)
}

// stateRows judges what an expectation claims of hosts on what was observed: sights are those of
// connections, nil before they are known.
func (x *run) stateRows(ctx context.Context, lab *engine.Client, e *expect.Reach, try *trial.Trial, observed seen) ([]reports.Row, error) {
	have := observed.there
	var rows []reports.Row
	w := x.paper[e.During]
	for _, c := range e.State {
		paper, paths := predictState(w, try.Forecasts, c)
		var views []state.View
		run, command := c.(*state.Run)
		switch {
		case command:
			views = []state.View{{Output: runCommand(ctx, lab, run)}}
		case c.PerConnection():
			views = observed.views(w, c)
		default:
			if have == nil {
				var err error
				if have, _, err = lab.ReadAll(ctx); err != nil {
					return nil, err
				}
			}
			views = []state.View{viewOf(netnsOf(have, c.On().Netns), c)}
		}
		v := c.Judge(views)
		rows = append(rows, trial.Found(c, paper, &v, paths))
	}
	return rows, nil
}

// seen is what packets showed: one observation and one sight for each flow.
type seen struct {
	observations []flow.Observation
	sights       []flow.Sight // nil: nothing but the result was looked at
	there        *plan.Plan   // the rules that the kernel has, if claims count those of agents
}

// readAgents reads the rules of the kernel if an expectation counts what agents wrote.
func (x *run) readAgents(ctx context.Context, lab *engine.Client, e *expect.Reach, observed *seen) (err error) {
	if slices.ContainsFunc(e.State, func(c state.Claim) bool { return c.PerConnection() && agentWrites(x.paper[e.During].plan, c) }) {
		observed.there, _, err = lab.ReadAll(ctx)
	}
	return err
}

func (s *seen) views(w world, c state.Claim) (views []state.View) {
	var lines []state.Line
	if r, ok := c.(*state.Rules); ok {
		p := w.onPaper
		if agentWrites(w.plan, c) {
			p = s.there
		}
		lines = linesOf(netnsOf(p, r.Netns))
	}
	for i := range s.sights {
		views = append(views, state.View{Sight: s.sights[i], Lines: lines, Protocol: s.observations[i].Flow.Protocol})
	}
	return views
}

// otherwise are the indexes of connections of which claims see other than predicted: what a host or
// a program sends by itself is seen, too.
func (x *run) otherwise(e *expect.Reach, try *trial.Trial, observed seen) (again []int) {
	w := x.paper[e.During]
	for _, c := range e.State {
		if !c.PerConnection() {
			continue
		}
		paper, paths := predictState(w, try.Forecasts, c)
		views := observed.views(w, c)
		all := c.Judge(views)
		if !trial.Found(c, paper, &all, paths).Disagrees {
			continue
		}
		for i := range views {
			if one := c.Judge(views[i : i+1]); len(all.Wrong) == 0 || len(one.Wrong) > 0 {
				again = append(again, i)
			}
		}
	}
	slices.Sort(again)
	return slices.Compact(again)
}

// runCommand runs the command of an expectation, confined, for a while.
func runCommand(ctx context.Context, lab *engine.Client, r *state.Run) *state.Output {
	in, out, err := os.Pipe()
	if err != nil {
		return &state.Output{Err: err.Error()}
	}
	heard := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(in, state.MaxOutput+1))
		heard <- text
		in.Close() // the command learns that nobody reads more
	}()
	limited, cancel := context.WithTimeout(ctx, time.Duration(float64(state.RunsFor)*flow.TimeScale()))
	defer cancel()
	status, err := lab.Exec(limited, engine.Command{Netns: r.Netns, Program: r.Program, Confined: true, Argv: r.Command, Dir: "/", Stdout: out, Stderr: out})
	out.Close()
	o := &state.Output{Status: status, Late: limited.Err() != nil && ctx.Err() == nil}
	select {
	case text := <-heard:
		o.Text, o.Long = string(bytes.ToValidUTF8(text[:min(len(text), state.MaxOutput)], []byte("�"))), len(text) > state.MaxOutput
	case <-time.After(time.Second): // a child of it lives on, and holds the pipe
		in.Close()
	}
	if err != nil && !o.Late {
		o.Err = err.Error()
	}
	return o
}
