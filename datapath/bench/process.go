//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// wholeProcess times `netlab up` of a small scenario from the start of the process to
// its end, against the floor for the same objects.
func wholeProcess(ctx context.Context, o Options) ([]Row, error) {
	o.Progress("netlab up " + o.Scenario)
	name := fmt.Sprintf("bench-%d", os.Getpid())
	dir, err := os.MkdirTemp("", "netlab-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	rules, err := writeRules(dir, o.Shape)
	if err != nil {
		return nil, err
	}
	var ups, floors, over []time.Duration
	for range o.Rounds {
		bare, err := runFloor(order{Shape: o.Shape, Rules: rules})
		if err != nil {
			return nil, fmt.Errorf("floor: %w", err)
		}
		settle()
		up, err := timed(ctx, o.Program, "up", "--name", name, o.Scenario)
		_, down := timed(ctx, o.Program, "down", name)
		if err := errors.Join(err, down); err != nil {
			return nil, err
		}
		settle()
		ups, floors, over = append(ups, up), append(floors, bare.up), append(over, up-bare.up)
	}
	extra := Median(over)
	return []Row{{What: "up of " + o.Scenario + ", whole process", Netlab: milliseconds(Median(ups)), Floor: milliseconds(Median(floors)),
		Got: "+" + milliseconds(extra), Goal: "≤ +100 ms", OK: extra <= 100*time.Millisecond}}, nil
}

// wholeTest times `netlab test` of the same scenario. It waits for one timeout of a
// second, which no program could shorten.
func wholeTest(ctx context.Context, o Options) ([]Row, error) {
	o.Progress("netlab test " + o.Scenario)
	var times []time.Duration
	for range o.Rounds {
		took, err := timed(ctx, o.Program, "test", o.Scenario)
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	extra := Median(times) - time.Second
	return []Row{{What: "test of " + o.Scenario + ", beyond the timeout it waits for", Netlab: milliseconds(Median(times)), Floor: "1000 ms",
		Got: "+" + milliseconds(extra), Goal: "≤ +1000 ms", OK: extra <= time.Second}}, nil
}

func timed(ctx context.Context, program string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	started := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(started)
	if err != nil {
		return took, fmt.Errorf("netlab %v: %w: %s", args, err, out)
	}
	return took, nil
}
