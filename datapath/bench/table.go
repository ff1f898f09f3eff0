//go:build linux

package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Row is one measurement that the documentation quotes, with its goal.
type Row struct {
	What   string
	Netlab string
	Floor  string
	Got    string
	Goal   string
	OK     bool
}

// Options select what Table measures.
type Options struct {
	Rounds   int
	Program  string // netlab itself, for whole-process times
	Scenario string // a small scenario, for the same
	Shape    Shape  // of that scenario
	Only     string // one of Parts; empty: all
	// Progress is called with what is measured next.
	Progress func(what string)
}

// part is a group of measurements, or some of it.
type part struct {
	name    string
	measure func(context.Context, Options) ([]Row, error)
	// scenario says that it runs netlab with Options.Scenario.
	scenario bool
}

func parts() []part {
	return []part{{"process", wholeProcess, true}, {"test", wholeTest, true}, {"growth", growth, false}, {"pods", thousand, false},
		{"nodes", manyNodes, false}, {"services", services, false}, {"rules", rules(1000), false}, {"rules", rules(10000), false}, {"policies", programPolicies, false}, {"policies", deniedMesh, false}, {"policies", packetCosts, false}, {"proxies", proxies, false}, {"programs", confinedPrograms, false}, {"modes", networkModes, false}, {"network", podNetworks, false}}
}

// Parts are the names of the groups of measurements.
func Parts() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return slices.Compact(names)
}

// UsesScenario reports whether a group of measurements (with "": any group) runs netlab
// with Options.Scenario.
func UsesScenario(only string) bool {
	return slices.ContainsFunc(parts(), func(p part) bool { return p.scenario && (only == "" || only == p.name) })
}

// Table measures everything that has a goal, or one group of it.
func Table(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for _, p := range parts() {
		if o.Only != "" && o.Only != p.name {
			continue
		}
		more, err := p.measure(ctx, o)
		if err != nil {
			return rows, err
		}
		rows = append(rows, more...)
		if ctx.Err() != nil {
			return rows, ctx.Err()
		}
	}
	return rows, nil
}

func thousand(ctx context.Context, o Options) ([]Row, error) {
	s := Shape{Nodes: 20, Pods: 1000}
	o.Progress("1,000 pods on 20 nodes")
	list, err := compareShape(ctx, s, o.Rounds)
	if err != nil {
		return nil, err
	}
	o.Progress("memory")
	few, err := runNetlab(ctx, Shape{Nodes: 20, Pods: 20}.Spec())
	if err != nil {
		return nil, err
	}
	settle()
	rss := median(list, func(r round) int64 { return r.netlab.rss })
	perPod := float64(rss-few.rss) / float64(s.Pods-20) / 1000
	return []Row{
		ratioRow("up, 1,000 pods on 20 nodes", list, up, 1.3),
		ratioRow("down, until the last link is gone", list, down, 2),
		{What: "memory of the engine per pod", Netlab: fmt.Sprintf("%.1f kB", perPod), Got: fmt.Sprintf("%.1f kB", perPod),
			Goal: "≤ 10 kB", OK: perPod <= 10},
	}, nil
}

func services(ctx context.Context, o Options) ([]Row, error) {
	o.Progress("20 services × 50 endpoints on every node")
	list, err := compareShape(ctx, Shape{Nodes: 20, Pods: 1000, Services: 20, Endpoints: 50}, o.Rounds)
	if err != nil {
		return nil, err
	}
	return []Row{ratioRow("the same with 20 services × 50 endpoints on every node", list, up, 1.3)}, nil
}

// growth fits time to a power of the number of pods.
func growth(ctx context.Context, o Options) ([]Row, error) {
	const few, many = 100, 3000
	o.Progress("100 pods")
	small, err := compareShape(ctx, Shape{Nodes: few / 50, Pods: few}, o.Rounds)
	if err != nil {
		return nil, err
	}
	o.Progress("3,000 pods")
	large, err := compareShape(ctx, Shape{Nodes: many / 50, Pods: many}, max(2, o.Rounds/2))
	if err != nil {
		return nil, err
	}
	ours, floors, _ := medians(small, up)
	oursMany, floorsMany, _ := medians(large, up)
	exponent := func(a, b time.Duration) float64 { return math.Log(float64(b)/float64(a)) / math.Log(many/few) }
	netlab, floor := exponent(ours, oursMany), exponent(floors, floorsMany)
	return []Row{{What: "growth of up from 100 to 3,000 pods", Netlab: fmt.Sprintf("N^%.2f", netlab), Floor: fmt.Sprintf("N^%.2f", floor),
		Got: fmt.Sprintf("%.2f", netlab), Goal: "≤ 1.10", OK: netlab <= 1.1}}, nil
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000)
}
