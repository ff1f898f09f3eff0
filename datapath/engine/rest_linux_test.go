package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/netlab/netlab/datapath/kernel"
	"github.com/netlab/netlab/datapath/plan"
)

// bridges are many namespaces, each with a bridge that has an address; the first has as
// many more as extra says.
func bridges(extra int) *plan.Plan {
	p := &plan.Plan{Lab: "bridges"}
	for i := range 100 {
		n := plan.Netns{Name: fmt.Sprintf("pod.%02d", i), Kind: plan.Pod,
			Links: []plan.Link{{Name: "br0", Type: plan.Bridge, MTU: 1500, MAC: [6]byte{2, 0, 0, 0, 1, byte(i)}}},
			Addrs: []plan.Addr{{Link: "br0", Prefix: netip.MustParsePrefix("10.0.0.1/24")}}}
		for j := range extra {
			if i == 0 {
				n.Addrs = append(n.Addrs, plan.Addr{Link: "br0", Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(j), 1}), 24)})
			}
		}
		p.Netns = append(p.Netns, n)
	}
	p.Sort()
	return p
}

// crowd is an engine that runs bridges(0).
type crowd struct {
	*engine
	t       *testing.T
	refusal error        // of all changes
	reads   atomic.Int64 // of namespaces, so far
	// stop, once stopping, holds the reader of pod.01, which arrived announces.
	stopping      atomic.Bool
	arrived, stop chan struct{}
}

func startCrowd(t *testing.T) *crowd {
	t.Helper()
	e, err := newEngine(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{engine: e, t: t, arrived: make(chan struct{}), stop: make(chan struct{})}
	e.kernel = kernel.New(kernel.Hooks{
		Check: func(context.Context, plan.Changes) error { return c.refusal },
		Running: func(name string, _ *plan.Netns) {
			c.reads.Add(1)
			if name == "pod.01" && c.stopping.CompareAndSwap(true, false) {
				close(c.arrived)
				<-c.stop
			}
		},
	})
	t.Cleanup(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.kernel.Close("")
	})
	if err := c.ask(bridges(0)); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask applies a plan as a command does.
func (c *crowd) ask(p *plan.Plan) error {
	c.t.Helper()
	encoded, err := plan.Encode(p)
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = c.answer(c.t.Context(), request{Verb: verbApply, plan: string(encoded)}, true)
	return err
}

// damage removes the address of a namespace.
func (c *crowd) damage(name string) {
	c.t.Helper()
	ns, err := c.kernel.Namespace(name)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := ns.Do(func() error { return exec.Command("ip", "address", "flush", "dev", "br0").Run() }); err != nil {
		c.t.Fatal(err)
	}
}

// drift is what status reports.
func (c *crowd) drift() string {
	c.t.Helper()
	r, err := c.answer(c.t.Context(), request{Verb: verbRead}, false)
	if err != nil {
		c.t.Fatal(err)
	}
	have, err := plan.Decode(string(r.Have))
	if err != nil {
		c.t.Fatal(err)
	}
	want, err := plan.Decode(string(r.Want))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Join(plan.Drift(have, want), "\n")
}

func TestAChangeIsAcknowledgedBeforeTheRestIsChecked(t *testing.T) {
	c := startCrowd(t)
	c.damage("pod.50")
	c.stopping.Store(true)
	if err := c.ask(bridges(1)); err != nil {
		t.Fatal(err)
	}
	<-c.arrived
	if i := c.info().Info; i.State != "running" || i.Check.Summary != "" {
		t.Errorf("meanwhile: %+v", i)
	}
	if c.mu.TryRLock() {
		t.Error("the lab may be used before all of it was checked")
	}
	close(c.stop)
	if drift := c.drift(); drift != "" {
		t.Errorf("the next request finds drift:\n%s", drift)
	}
	check := c.info().Info.Check
	if check.Summary != "1 network namespace changed (1 address)" || check.Err != "" || !strings.Contains(strings.Join(check.Lines, "\n"), "10.0.0.1/24") {
		t.Errorf("found: %+v", check)
	}
	if err := c.ask(bridges(1)); err != nil {
		t.Fatal(err)
	}
	if check := c.info().Info.Check; check.Summary != "" {
		t.Errorf("after another change the old check is still reported: %+v", check)
	}
}

// Concurrent changes wait for each other, and none misses drift.
func TestManyChangesAtOnce(t *testing.T) {
	c := startCrowd(t)
	for round := range 3 {
		c.drift() // all checks are done
		c.damage(fmt.Sprintf("pod.%d", 50+round))
		var all sync.WaitGroup
		for extra := range 8 {
			all.Go(func() {
				if err := c.ask(bridges(extra)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if drift := c.drift(); drift != "" {
			t.Errorf("drift:\n%s", drift)
		}
	}
}

func TestDownEndsTheCheckEarly(t *testing.T) {
	c := startCrowd(t)
	c.damage("pod.50")
	c.stopping.Store(true)
	if err := c.ask(bridges(1)); err != nil {
		t.Fatal(err)
	}
	<-c.arrived
	before := c.reads.Load()
	down := make(chan error, 1)
	go func() {
		_, err := c.answer(context.Background(), request{Verb: verbDown}, false)
		down <- err
	}()
	<-c.working.Done()
	close(c.stop)
	if err := <-down; err != nil {
		t.Error(err)
	}
	if after := c.reads.Load(); after != before {
		t.Errorf("%d more namespaces were read", after-before)
	}
	if check := c.info().Info.Check; check.Err != "" || len(c.kernel.Names()) > 0 {
		t.Errorf("left: %v, %+v", c.kernel.Names(), check)
	}
}

// A check that fails after the reply is reported by status, and by the next change.
func TestAFailedCheckIsNotLost(t *testing.T) {
	c := startCrowd(t)
	c.damage("pod.50")
	c.stopping.Store(true)
	if err := c.ask(bridges(1)); err != nil {
		t.Fatal(err)
	}
	<-c.arrived // the change is done: from now on all are refused
	c.refusal = errors.New("refused by the test")
	close(c.stop)
	if drift := c.drift(); !strings.Contains(drift, "pod.50: address 10.0.0.1/24 dev br0 missing") {
		t.Errorf("drift: %q", drift)
	}
	if check := c.info().Info.Check; check.Err != "refused by the test" || check.Summary != "" {
		t.Errorf("found: %+v", check)
	}
	if err := c.ask(bridges(2)); !errors.Is(err, c.refusal) {
		t.Errorf("the next change: %v", err)
	}
	c.refusal = nil
	if err := c.ask(bridges(2)); err != nil {
		t.Error(err)
	}
	if drift := c.drift(); drift != "" {
		t.Errorf("drift:\n%s", drift)
	}
}
