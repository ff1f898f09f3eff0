//go:build linux

package engine

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/probe"
)

// First bytes of a connection.
const (
	plainRequest = 'r'
	execRequest  = 'x' // carries the descriptors of standard input, output and error
)

// engine is the running lab.
type engine struct {
	folder  *folder // nil: the lab is known to its maker only
	quit    func()
	started time.Time

	changing atomic.Bool
	mu       sync.RWMutex // held to change the lab, shared to use it
	kernel   *kernel.Kernel
	meta     Meta
	proven   map[plan.Feature]bool

	inside inside
}

func newEngine(f *folder) (*engine, error) {
	e := &engine{folder: f, started: time.Now(), proven: map[plan.Feature]bool{}}
	server, err := probe.NewServer()
	if err != nil {
		return nil, err
	}
	e.inside = inside{server: server, spaces: map[string]*occupants{}}
	e.kernel = kernel.New(kernel.Hooks{Enter: e.inside.enter, Leave: e.inside.leave, Running: e.inside.running})
	return e, nil
}

func (e *engine) listen(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go e.serve(conn.(*net.UnixConn))
	}
}

// serve answers one connection. Work that takes long ends when the other side
// hangs up.
func (e *engine) serve(conn *net.UnixConn) {
	defer conn.Close()
	kind, files, err := receiveKind(conn)
	if err != nil {
		return
	}
	defer closeAll(files)
	decoder := gob.NewDecoder(conn)
	var req request
	if err := decoder.Decode(&req); err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var r reply
	if kind == execRequest && req.Verb == verbExec {
		r, err = e.exec(ctx, req.Command, files, decoder)
	} else {
		go func() { // nothing more is sent: the read ends with the connection
			_, _ = io.Copy(io.Discard, conn)
			cancel()
		}()
		r, err = e.answer(ctx, req)
	}
	if err != nil {
		r.Err, r.Code, r.Missing = encodeError(err)
	}
	_ = gob.NewEncoder(conn).Encode(r)
	if req.Verb == verbDown {
		conn.Close()
		e.quit()
	}
}

func receiveKind(conn *net.UnixConn) (byte, []*os.File, error) {
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(3*4))
	n, oobn, _, _, err := conn.ReadMsgUnix(buf, oob)
	if err != nil || n == 0 {
		return 0, nil, errors.New("no request")
	}
	var files []*os.File
	if msgs, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(msgs) > 0 {
		fds, _ := unix.ParseUnixRights(&msgs[0])
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "stdio"))
		}
	}
	return buf[0], files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func (e *engine) answer(ctx context.Context, req request) (reply, error) {
	switch req.Verb {
	case verbApply:
		return e.apply(ctx, req)
	case verbInfo:
		return e.info(), nil
	case verbRead:
		return e.read(ctx)
	case verbProbe:
		return e.probe(ctx, req)
	case verbTry:
		return reply{Missing: texts(kernel.Missing(ctx, plan.AllFeatures()))}, nil
	case verbDown:
		e.dismantle(ctx)
		return reply{}, nil
	default:
		return reply{}, fmt.Errorf("unknown request %q: the lab was started by another version of netlab", req.Verb)
	}
}

func (e *engine) apply(ctx context.Context, req request) (reply, error) {
	want, err := plan.Decode(bytes.NewReader(req.Plan))
	if err != nil {
		return reply{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changing.Store(true)
	defer e.changing.Store(false)
	first := len(e.kernel.Names()) == 0
	if !first {
		// A lab that runs must not be half-changed when the kernel lacks something.
		if err := e.require(ctx, want); err != nil {
			return reply{}, err
		}
	}
	before := e.kernel.Applied()
	changes, err := e.kernel.Apply(ctx, want)
	if err != nil {
		if ctx.Err() == nil {
			if lacks := e.require(ctx, want); lacks != nil {
				err = lacks
			}
		}
		if !first {
			// A lab that ran before stays as it was, also when the user hung up.
			if _, back := e.kernel.Apply(context.Background(), before); back != nil {
				err = errors.Join(err, fmt.Errorf("put the lab back: %w", back))
			}
		}
		return reply{}, err
	}
	e.meta = req.Meta
	if e.folder != nil {
		if err := e.folder.write(planFile, req.Plan); err != nil {
			return reply{}, err
		}
	}
	for _, f := range plan.Requires(want) {
		e.proven[f] = true
	}
	a := Applied{Created: len(changes.Create), Edited: len(changes.Edit), Removed: len(changes.Remove)}
	if !changes.Empty() {
		a.Summary = changes.Summary()
	}
	if req.Lines {
		a.Lines = changes.Lines()
	}
	return reply{Applied: a}, nil
}

// require tries the features that a plan needs and no plan before it has proven.
func (e *engine) require(ctx context.Context, want *plan.Plan) error {
	var unproven []plan.Feature
	for _, f := range plan.Requires(want) {
		if !e.proven[f] {
			unproven = append(unproven, f)
		}
	}
	if missing := kernel.Missing(ctx, unproven); len(missing) > 0 {
		return &UnsupportedError{Missing: missing}
	}
	return nil
}

func (e *engine) info() reply {
	i := Info{State: "running", Started: e.started, RSS: residentMemory()}
	if e.changing.Load() {
		i.State = "changing"
		return reply{Info: i}
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	i.Meta = e.meta
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

func (e *engine) read(ctx context.Context) (reply, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := e.kernel.Applied()
	have, err := e.kernel.Read(ctx, want)
	if err != nil {
		return reply{}, err
	}
	var h, w bytes.Buffer
	if err := errors.Join(plan.Encode(&h, have), plan.Encode(&w, want)); err != nil {
		return reply{}, err
	}
	return reply{Have: h.Bytes(), Want: w.Bytes()}, nil
}

func (e *engine) probe(ctx context.Context, req request) (reply, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var dialer probe.Dialer
	enter := func(name string) (*netns.NS, error) { return e.kernel.Namespace(name) }
	return reply{Seen: dialer.Dial(ctx, req.Flows, enter)}, nil
}

// wire is the namespace that all nodes and clients have a link into.
const wire = string(plan.Wire)

// dismantle gives everything back and waits until the links are gone: each node
// and client has an end in the wire, and pods hang on nodes.
func (e *engine) dismantle(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.inside.close()
	last, err := e.kernel.Namespace(wire)
	e.kernel.Close(wire)
	if err == nil {
		kernel.AwaitEmpty(ctx, last)
		last.Close()
	}
}

// shutdown is the end of the engine, on request or because its maker is gone.
// What is left the kernel takes with the process.
func (e *engine) shutdown() {
	e.inside.close()
	if e.folder != nil {
		e.folder.remove()
	}
}

// unsupported is the code of an UnsupportedError on the control socket.
const unsupported = "unsupported"

func encodeError(err error) (text, code string, missing map[string]string) {
	var u *UnsupportedError
	if errors.As(err, &u) {
		return err.Error(), unsupported, texts(u.Missing)
	}
	return strings.TrimSpace(err.Error()), "", nil
}

func texts(missing map[plan.Feature]error) map[string]string {
	m := make(map[string]string, len(missing))
	for f, err := range missing {
		m[string(f)] = err.Error()
	}
	return m
}

// error is the reverse of encodeError.
func (r reply) error() error {
	switch {
	case r.Err == "":
		return nil
	case r.Code == unsupported:
		return &UnsupportedError{Missing: r.missing()}
	default:
		return errors.New(r.Err)
	}
}

func (r reply) missing() map[plan.Feature]error {
	m := make(map[plan.Feature]error, len(r.Missing))
	for f, why := range r.Missing {
		m[plan.Feature(f)] = errors.New(why)
	}
	return m
}
