package command

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/language/source"
)

// Limits is what computing may cost. It bounds every function of every library at once,
// whatever a file makes of them; the largest shipped scenario takes a hundredth of it.
type Limits struct {
	Place, All             time.Duration // of processor time: at one place of a file, and together
	PlaceMemory, AllMemory uint64        // bytes: more than before that place, and together
}

func usual() Limits {
	scale := func(d time.Duration) time.Duration { return time.Duration(float64(d) * flow.TimeScale()) }
	return Limits{scale(3 * time.Second), scale(2 * time.Minute), 512 << 20, 4 << 30}
}

const (
	// lookEvery is how often the cost is read: memory grows some megabytes in this time.
	lookEvery = 5 * time.Millisecond
	// patience is how long something may take to end by itself after a signal.
	patience = 300 * time.Millisecond
)

// Bounded does what only computes: reading a scenario, compiling it, following packets on
// paper. Functions of libraries cannot be interrupted, so it runs in a goroutine that is given
// up, with an error, when the command is interrupted, its --timeout is over, or it costs too
// much. That is safe because nothing outside this process has changed yet; the command must
// end then, for the goroutine still runs.
func (u *UI) Bounded(progress *source.Progress, do func() error) error {
	began := processorTime()
	w := watch{Limits: u.Limits, began: began, last: began, spent: map[string]time.Duration{}}
	return u.await(func() (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = gaveUp(progress.At(), "Cannot be evaluated", fmt.Sprintf("netlab itself fails here: %v. Write it in another way, and please report it.", r))
			}
		}()
		return do()
	}, func() error {
		if summary, detail := w.look(progress.At()); summary != "" {
			return gaveUp(progress.At(), summary, detail)
		}
		return nil
	})
}

// untilSignal does something in a goroutine, which is given up after a signal or --timeout.
func (u *UI) untilSignal(do func() error) error {
	return u.await(do, func() error { return nil })
}

// await does something in a goroutine, which is given up after a signal or --timeout, or when
// look says why.
func (u *UI) await(do, look func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-u.ctx.Done():
			select {
			case err := <-done:
				return err
			case <-time.After(patience):
				return interruptedBy(u.ctx)
			}
		case <-tick.C:
			if err := look(); err != nil {
				return err
			}
		}
	}
}

// interruptedBy is why a context ended, as an error of the command.
func interruptedBy(ctx context.Context) error {
	if Interrupted(ctx) {
		return ErrInterrupted
	}
	return context.Cause(ctx)
}

// gaveUp is an error that ends the command, about what was too much.
func gaveUp(at *source.Place, summary, detail string) error {
	if at == nil {
		at = &source.Place{}
	}
	return &Error{Err: errors.New("gave up here, and read nothing else"), Code: ExitInvalid, Hint: "change what the error above names",
		Diagnostics: source.Diagnostics{at.Error(summary, detail)}}
}

// watch adds up what a load costs.
type watch struct {
	Limits
	began, last time.Duration
	at          *source.Place
	before      uint64                   // memory when it came there
	spent       map[string]time.Duration // processor time of places
}

// look is what is too much by now; "": nothing.
func (w *watch) look(at *source.Place) (summary, detail string) {
	now, memory := processorTime(), memoryInUse()
	if at != w.at {
		w.at, w.before = at, memory
	}
	if at != nil && at.Range.Filename != "" {
		key := at.Range.String()
		w.spent[key] += now - w.last
		switch {
		case w.spent[key] > w.Place:
			return "Too much to evaluate", fmt.Sprintf("Evaluating this takes more than %v of processor time. Loop over less, use smaller numbers, or build less text.", w.Place)
		case memory > w.before+w.PlaceMemory:
			return "Too much to evaluate", fmt.Sprintf("Evaluating this takes more than %d MB of memory. Loop over less, use smaller numbers, or build less text.", w.PlaceMemory>>20)
		}
	}
	w.last = now
	switch {
	case now-w.began > w.All:
		return "Scenario too large", fmt.Sprintf("Reading it takes more than %v of processor time. Make it smaller.", w.All)
	case memory > w.AllMemory:
		return "Scenario too large", fmt.Sprintf("Reading it takes more than %d MB of memory. Make it smaller.", w.AllMemory>>20)
	}
	return "", ""
}

// memoryInUse is what this process has of the machine's memory, with its stacks.
func memoryInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64() - sample[2].Value.Uint64()
}
