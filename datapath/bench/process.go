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
	bare := order{Shape: o.Shape}
	done, err := bare.withRules(o.Shape.Spec())
	defer done()
	if err != nil {
		return nil, err
	}
	list, err := compare(o.Rounds, &bare, func() (sample, error) {
		up, err := timed(ctx, o.Program, "up", "--name", name, o.Scenario)
		_, down := timed(ctx, o.Program, "down", name)
		return sample{up: up}, errors.Join(err, down)
	})
	if err != nil {
		return nil, err
	}
	netlab, floor, _ := medians(list, up)
	extra := median(list, func(r round) time.Duration { return r.netlab.up - r.floor.up })
	return []Row{{What: "up of " + o.Scenario + ", whole process", Netlab: milliseconds(netlab), Floor: milliseconds(floor),
		Got: "+" + milliseconds(extra), Goal: "≤ +100 ms", OK: extra <= 100*time.Millisecond}}, nil
}

// wholeTest times `netlab test` of the same scenario. It waits for one timeout of a
// second, which no program could shorten.
func wholeTest(ctx context.Context, o Options) ([]Row, error) {
	o.Progress("netlab test " + o.Scenario)
	list, err := compare(o.Rounds, nil, func() (got sample, err error) {
		got.up, err = timed(ctx, o.Program, "test", o.Scenario)
		return got, err
	})
	if err != nil {
		return nil, err
	}
	took, _, _ := medians(list, up)
	extra := took - time.Second
	return []Row{{What: "test of " + o.Scenario + ", beyond the timeout it waits for", Netlab: milliseconds(took), Floor: "1000 ms",
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
