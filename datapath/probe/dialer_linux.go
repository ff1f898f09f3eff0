package probe

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
)

// DefaultWithin is the deadline of a flow that sets none.
const DefaultWithin = time.Second

// Dial is the function Dial, except that it also knows which programs connections reach
// (Watch). Such a program need not answer: a TCP connection counts as soon as data has
// arrived, a datagram when it has arrived, unless the answer is a refusal.
func (s *Server) Dial(ctx context.Context, flows []flow.Flow, enter func(name string) (*netns.NS, error)) []flow.Observation {
	return dial(ctx, s, flows, enter)
}

// Dial makes one connection attempt per flow and returns what happened, in the
// order of flows. enter opens the network namespace of a flow by its name, and is
// called once per name, in the order of names; Dial does not close what it
// returns. A flow whose attempt could not be made, or that ctx ended, has the
// outcome failed.
//
// Each attempt has its own socket and source port, even towards different addresses,
// and its deadline starts with its own connect. It is connected if there was an answer:
// from an agent, named in Answer, or from a server of another protocol, with Answer
// empty. TCP connections end with a reset, which leaves nothing in TIME_WAIT, on either
// side or in conntrack.
func Dial(ctx context.Context, flows []flow.Flow, enter func(name string) (*netns.NS, error)) []flow.Observation {
	return dial(ctx, nil, flows, enter)
}

func dial(ctx context.Context, s *Server, flows []flow.Flow, enter func(name string) (*netns.NS, error)) []flow.Observation {
	seen := make([]flow.Observation, len(flows))
	for i, f := range flows {
		seen[i].Flow = f
	}
	if len(flows) == 0 {
		return seen
	}
	t := netns.NewThread()
	defer t.Close()
	err := t.Run(func(here netns.Here) error {
		r, err := newRun(ctx, seen)
		if err != nil {
			return err
		}
		defer r.close()
		r.here, r.enter, r.server = here, enter, s
		return r.loop(ctx)
	})
	if err != nil {
		for i := range seen {
			if seen[i].Outcome == "" {
				seen[i].Outcome, seen[i].Err = flow.Failed, err.Error()
			}
		}
	}
	return seen
}

// attempt is the state of one flow being dialed.
type attempt struct {
	fd     int
	began  time.Duration // since the run began
	state  state
	young  bool // counts as young
	part   []byte
	sent   int           // bytes of an upload
	upload time.Duration // of an upload
	mark   uint64        // in what it sends; 0: none
	silent bool          // it has reached a program that did not answer
}

type state uint8

const (
	waiting state = iota // not begun
	joining              // connecting
	asked                // connected, the request is sent
	heard                // there was an answer, but it does not say whose
	over
)

// run is one Dial. Attempts are identified by their index in order.
type run struct {
	here   netns.Here
	enter  func(name string) (*netns.NS, error)
	server *Server // knows which programs are reached; nil: nobody does

	seen      []flow.Observation
	order     []int // indexes of seen, grouped by network namespace
	attempts  []attempt
	next      int // in order: the first not yet begun
	open      int
	young     int
	grown     int // in order: all before it are no longer young
	pace      pace
	maxOpen   int
	deadlines deadlines
	inside    string // the network namespace that the thread is in
	entered   bool
	noEntry   error // why it is not there

	began  time.Time
	poller *poller
	cancel func() (pending bool) // stops waking the poller when the context ends
	woken  chan struct{}
	buf    [4096]byte
}

func newRun(ctx context.Context, seen []flow.Observation) (*run, error) {
	r := &run{
		seen:     seen,
		order:    make([]int, len(seen)),
		attempts: make([]attempt, len(seen)),
		maxOpen:  descriptors() / 2, // the agents need the rest
		pace:     newPace(),
		began:    time.Now(),
		woken:    make(chan struct{}),
	}
	for i := range r.order {
		r.order[i] = i
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(seen[a].Flow.From, seen[b].Flow.From) })
	var err error
	if r.poller, err = newPoller(); err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	r.cancel = context.AfterFunc(ctx, func() {
		defer close(r.woken)
		r.poller.poke()
	})
	return r, nil
}

// close closes everything still open.
func (r *run) close() {
	for i := range r.attempts[:r.next] {
		if a := &r.attempts[i]; a.state != waiting && a.state != over {
			unix.Close(a.fd)
			r.forget(a)
		}
	}
	if !r.cancel() {
		<-r.woken // it may be about to poke
	}
	r.poller.close()
}

func (r *run) loop(ctx context.Context) error {
	events := make([]unix.EpollEvent, 128)
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("dial: %w", context.Cause(ctx))
		}
		r.age(time.Since(r.began))
		for r.next < len(r.order) && r.young < r.pace.window() && r.open < r.maxOpen {
			if !r.begin(r.next) {
				break
			}
		}
		if r.open == 0 {
			return nil // begin only waits for others: all are done
		}
		seen, err := r.poller.wait(events, r.wait())
		if err != nil {
			return fmt.Errorf("dial: %w", err)
		}
		for _, e := range seen {
			if e.Fd >= 0 {
				r.proceed(int(e.Fd))
			}
		}
	}
}

// age ends the attempts whose deadline has passed, and stops counting those no longer
// young.
func (r *run) age(now time.Duration) {
	for ; r.grown < r.next; r.grown++ {
		a := &r.attempts[r.grown]
		if a.state == over {
			continue
		}
		if now-a.began < r.pace.age() {
			break
		}
		r.grow(a)
		r.lookAgain(r.grown)
	}
	for {
		first := r.deadlines.next(r.attempts)
		if first.time > now {
			return
		}
		r.lookAgain(first.at)
		switch r.attempts[first.at].state {
		case over:
		case heard:
			r.end(first.at, flow.Connected, "")
		case asked:
			if r.flow(first.at).Protocol != flow.UDP {
				r.end(first.at, flow.Timeout, "connected, but no answer")
				continue
			}
			fallthrough
		default:
			r.end(first.at, flow.Timeout, "")
		}
	}
}

// lookAgain gives an attempt a last chance before it times out: on a busy machine its
// event may still be pending, and a program that it has reached may never answer.
//
// It also reads the error that the kernel has kept. An ICMP error that arrives while
// connect holds the socket, as from a REJECT on the dialer's own node, is only recorded
// (sk_err_soft in tcp_v4_err, net/ipv4/tcp_ipv4.c) and would surface with the next SYN,
// a second later.
func (r *run) lookAgain(at int) {
	r.proceed(at)
	a := &r.attempts[at]
	if a.state == heard || a.state == asked && r.flow(at).Path == "" && r.flow(at).Upload == 0 {
		if r.witnessed(at) || a.state == heard {
			a.silent = a.state == asked
			r.end(at, flow.Connected, "")
		}
	}
	if a.state != joining {
		return
	}
	no, err := unix.GetsockoptInt(a.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && no != 0 {
		r.fail(at, os.NewSyscallError("connect", unix.Errno(no)))
	}
}

// wait is the number of milliseconds until something is due.
func (r *run) wait() int {
	due := r.deadlines.next(r.attempts).time
	if r.grown < r.next {
		due = min(due, r.attempts[r.grown].began+r.pace.age())
	}
	left := due - time.Since(r.began)
	return max(0, int((left+time.Millisecond-1)/time.Millisecond))
}

func (r *run) flow(at int) *flow.Flow { return &r.seen[r.order[at]].Flow }

func (r *run) grow(a *attempt) {
	if a.young {
		a.young = false
		r.young--
	}
}

// fail ends an attempt with an error of its socket.
func (r *run) fail(at int, err error) {
	if o := outcome(err); o != flow.Reset || r.flow(at).Path != "" || !r.witnessed(at) {
		r.end(at, o, err.Error())
		return
	}
	r.end(at, flow.Connected, "") // a program may close what it has not read, which resets
}

// witnessed records the program that an attempt has reached, if it did.
func (r *run) witnessed(at int) bool {
	number := r.attempts[at].mark
	if number == 0 {
		return false
	}
	a := r.server.witnessed(number)
	if a != nil {
		r.record(at, *a)
	}
	return a != nil
}

// forget ends the search for the mark of an attempt.
func (r *run) forget(a *attempt) {
	if a.mark != 0 {
		r.server.forget(a.mark)
		a.mark = 0
	}
}

// end records how an attempt ended and closes its socket, if it has one.
func (r *run) end(at int, o flow.Outcome, text string) {
	a := &r.attempts[at]
	s := &r.seen[r.order[at]]
	s.Outcome, s.Err = o, text
	if a.state != heard { // that was then
		s.Took = time.Since(r.began) - a.began
	}
	if a.state != waiting {
		if o == flow.Connected {
			r.pace.took(s.Took)
			r.askTCP(at)
		}
		unix.Close(a.fd)
		r.open--
		r.grow(a)
	}
	r.forget(a)
	a.state, a.part = over, nil
}
