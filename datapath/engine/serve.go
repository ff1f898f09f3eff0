//go:build linux

package engine

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/kernel"
	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
)

// largePlan is the size of a plan, in bytes, that leaves much garbage behind.
const largePlan = 1 << 20

// First bytes of a connection.
const (
	plainRequest = 'r'
	execRequest  = 'x' // carries the descriptors of standard input, output and error
)

// engine is the running lab.
type engine struct {
	folder  *folder // nil: only its creator knows the lab
	quit    func()
	started time.Time

	changing atomic.Bool
	detached atomic.Bool          // the engine outlives its creator
	meta     atomic.Pointer[Meta] // never nil
	// working ends when the lab goes down: changes under way are abandoned.
	working context.Context
	giveUp  context.CancelCauseFunc
	found   atomic.Pointer[Check]      // never nil
	left    atomic.Pointer[[]Draining] // when the last change was made

	mu     sync.RWMutex // held to change the lab, shared to use it
	kernel *kernel.Kernel
	proven map[feature.Feature]bool
	// accounting says whether the kernel has accounting objects of netfilter.
	accounting func() bool
	digest     uint64 // of the encoded plan that was applied last
	plans      plan.Decoder

	reapEvery time.Duration

	inside *inside.Lab
}

func newEngine(f *folder) (*engine, error) {
	e := &engine{folder: f, started: time.Now(), proven: map[feature.Feature]bool{}, reapEvery: reapInterval}
	e.working, e.giveUp = context.WithCancelCause(context.Background())
	e.accounting = sync.OnceValue(func() bool { return features.Accounting(e.working) })
	e.meta.Store(&Meta{})
	e.found.Store(&Check{})
	var err error
	if e.inside, err = inside.New(); err != nil {
		return nil, err
	}
	hooks := e.inside.Hooks()
	hooks.Check = e.check
	e.kernel = kernel.New(hooks)
	return e, nil
}

func (e *engine) listen(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go e.serve(conn.(*net.UnixConn), false)
	}
}

// serve answers one connection, from the creator of the lab or from another command.
// Long work ends when the other side hangs up.
func (e *engine) serve(conn *net.UnixConn, creator bool) {
	defer conn.Close()
	kind, files, err := receiveKind(conn)
	if err != nil {
		return
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	in := bufio.NewReader(conn)
	decoder := gob.NewDecoder(in)
	var req request
	if err := decoder.Decode(&req); err != nil {
		return
	}
	if req.plan, err = receivePlan(in, req.Size); err != nil {
		return
	}
	if req.Verb == verbAPI {
		e.serveAPI(conn, in)
		return
	}
	ctx, cancel := context.WithCancel(e.working)
	defer cancel()
	var r reply
	if kind == execRequest && req.Verb == verbExec {
		r, err = e.exec(req.Command, files, decoder)
	} else {
		objects := make(chan []byte, 1)
		req.objects = objects
		go func() {
			if req.Objects {
				objects <- receiveObjects(in)
			}
			// The peer sends no more: the read ends with the connection.
			close(objects)
			_, _ = io.Copy(io.Discard, conn)
			cancel()
		}()
		r, err = e.answer(ctx, req, creator)
	}
	if e.working.Err() != nil && req.Verb != verbDown {
		err = errClosed // nothing that was done persists
	}
	if err != nil {
		r.Err, r.Code, r.Missing = encodeError(err)
		errors.As(err, &r.Program)
	}
	_ = gob.NewEncoder(conn).Encode(r)
	if req.Verb == verbApply && req.Size > largePlan {
		runtime.GC() // now that no client is waiting, rather than during the next change
	}
	if req.Verb == verbDown {
		conn.Close()
		e.quit()
	}
}

// maxPlan bounds the size of a plan that is accepted, in bytes: ten times the size for a
// hundred thousand services.
const maxPlan = 1 << 30

// receivePlan reads the encoded plan that follows a request.
func receivePlan(in io.Reader, size int) (string, error) {
	if size < 0 || size > maxPlan {
		return "", fmt.Errorf("a plan of %d bytes", size)
	}
	var b strings.Builder
	b.Grow(size)
	_, err := io.CopyN(&b, in, int64(size))
	return b.String(), err
}

func receiveKind(conn *net.UnixConn) (byte, []*os.File, error) {
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil || n == 0 {
		return 0, nil, errors.New("no request")
	}
	return buf[0], received(oob[:oobn], "stdio"), nil
}

func (e *engine) answer(ctx context.Context, req request, creator bool) (reply, error) {
	switch req.Verb {
	case verbApply:
		if creator {
			return e.apply(ctx, req)
		}
		return e.applyForAnother(ctx, req)
	case verbInfo:
		return e.info(), nil
	case verbRead:
		return e.read(ctx, req.All)
	case verbCount:
		return e.count(ctx)
	case verbProbe:
		return e.probe(ctx, req)
	case verbWire:
		return e.wire(ctx, req.Wire)
	case verbWatch:
		return e.watch(ctx, req.Watch)
	case verbLogs:
		return e.logs(ctx, req)
	case verbTry:
		return reply{Missing: texts(features.Missing(ctx, feature.All()))}, nil
	case verbDown:
		e.giveUp(errClosed)
		e.dismantle()
		return reply{}, nil
	default:
		return reply{}, fmt.Errorf("unknown request %q: the lab was started by another version of netlab", req.Verb)
	}
}

// info takes no lock on the lab: it shows that the engine is alive.
func (e *engine) info() reply {
	i := Info{State: "running", Started: e.started, RSS: residentMemory(), Draining: e.draining(), Check: *e.found.Load()}
	if e.changing.Load() {
		i.State = "changing"
	}
	i.Meta = *e.meta.Load()
	i.Sessions, i.Programs, i.Checks = e.inside.Sessions(), e.inside.Programs(), e.inside.Checks()
	return reply{Info: i}
}

func residentMemory() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	var size, resident int64
	if err == nil {
		_, _ = fmt.Sscan(string(data), &size, &resident)
	}
	return resident * int64(os.Getpagesize())
}

func (e *engine) read(ctx context.Context, all bool) (reply, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := e.kernel.Applied()
	read := e.kernel.Read
	if all {
		read = e.kernel.ReadAll
	}
	have, err := read(ctx, want)
	if err != nil {
		return reply{}, err
	}
	h, err := plan.Encode(have)
	if err != nil {
		return reply{}, err
	}
	w, err := plan.Encode(want)
	return reply{Have: h, Want: w}, err
}

func (e *engine) count(ctx context.Context) (reply, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	counted, err := e.kernel.Counters(ctx)
	return reply{Counted: counted}, err
}

func (e *engine) probe(ctx context.Context, req request) (reply, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return reply{Observations: e.inside.Dial(ctx, req.Flows, e.kernel.Namespace)}, nil
}

// underlay is the namespace to which all nodes, clients and routers have a link.
const underlay = string(plan.Underlay)

// dismantle releases everything and waits until the links are gone: each node and
// client has a veth end in the underlay, and pods are linked to nodes. It cannot be
// cancelled, even if the requester is gone.
func (e *engine) dismantle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inside.Close()
	last, err := e.kernel.Namespace(underlay)
	e.kernel.Close(underlay)
	if err == nil {
		kernel.AwaitEmpty(context.Background(), last)
		last.Close()
	}
}

// shutdown ends the engine, on request or because its creator is gone. The kernel
// removes what is left with the process.
func (e *engine) shutdown() {
	e.inside.Close()
	if e.folder != nil {
		e.folder.remove()
	}
}

// Codes of errors on the control socket.
const (
	codeUnsupported = "unsupported"
	codeClash       = "clash"
	codeBusy        = "busy"
	codeClosed      = "closed"
	codeState       = "state"
	codeNotFound    = "not found"
	codeNotRun      = "not run"
	codeLimit       = "limit"
)

func encodeError(err error) (text, code string, missing map[string]string) {
	var lacks *UnsupportedError
	var clash *ClashError
	var command *inside.CommandError
	var limit *LimitError
	switch {
	case errors.As(err, &limit):
		return limit.Error(), codeLimit, nil
	case errors.As(err, &command) && command.NotFound:
		return command.Error(), codeNotFound, nil
	case errors.As(err, &command):
		return command.Error(), codeNotRun, nil
	case errors.As(err, &lacks):
		return err.Error(), codeUnsupported, texts(lacks.Missing)
	case errors.As(err, &clash):
		return clash.File, codeClash, nil
	case errors.Is(err, ErrBusy):
		return err.Error(), codeBusy, nil
	case errors.Is(err, errClosed):
		return err.Error(), codeClosed, nil
	case errors.Is(err, ErrState):
		return strings.TrimPrefix(err.Error(), ErrState.Error()+": "), codeState, nil
	default:
		return strings.TrimSpace(err.Error()), "", nil
	}
}

func texts(missing map[feature.Feature]error) map[string]string {
	m := make(map[string]string, len(missing))
	for f, err := range missing {
		m[string(f)] = err.Error()
	}
	return m
}

// error is the reverse of encodeError.
func (r reply) error() error {
	switch {
	case r.Program != nil:
		return r.Program
	case r.Code == codeUnsupported:
		return &UnsupportedError{Missing: r.missing()}
	case r.Code == codeClash:
		return &ClashError{File: r.Err}
	case r.Code == codeBusy:
		return ErrBusy
	case r.Code == codeClosed:
		return ErrEnded
	case r.Code == codeNotFound || r.Code == codeNotRun:
		program, why, _ := strings.Cut(r.Err, ": ")
		return &inside.CommandError{Program: program, NotFound: r.Code == codeNotFound, Why: why}
	case r.Code == codeLimit:
		return &LimitError{Limit: r.Err}
	case r.Code == codeState:
		return fmt.Errorf("%w: %s", ErrState, r.Err)
	case r.Err == "":
		return nil
	default:
		return errors.New(r.Err)
	}
}

func (r reply) missing() map[feature.Feature]error {
	m := make(map[feature.Feature]error, len(r.Missing))
	for f, why := range r.Missing {
		m[feature.Feature(f)] = errors.New(why)
	}
	return m
}
