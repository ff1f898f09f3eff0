//go:build linux

package engine

import (
	"context"
	"encoding/gob"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
)

// Client talks to one engine. Its methods may be called concurrently.
type Client struct {
	name     string
	lifeline *os.File // of an engine started by Start
	log      *os.File // the engine's log; may be nil
	cmd      *exec.Cmd
	janitor  *janitor
	memory   []memoryLimit // of an engine started by Start
}

// Connect finds a running lab by its name. It returns ErrNotRunning if there is none.
func Connect(name string) (*Client, error) {
	c := &Client{name: name}
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	c.log, _ = os.Open(filepath.Join(StateDir(), name, logFile)) // only for better errors
	return c, conn.Close()
}

func (c *Client) dial() (*net.UnixConn, error) {
	if c.lifeline != nil {
		return c.dialLifeline()
	}
	f, err := openFolder(c.name)
	if err != nil {
		return nil, ErrNotRunning
	}
	defer f.close()
	if f.lock(unix.LOCK_EX | unix.LOCK_NB) {
		f.remove() // left by an engine killed together with its janitor
		return nil, ErrNotRunning
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: f.path(socketFile), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("lab %q: %w: %w", c.name, ErrUnreachable, unwrapAll(err))
	}
	return conn, nil
}

// dialLifeline creates a pair of sockets and sends one end to the engine.
func (c *Client) dialLifeline() (*net.UnixConn, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	ours := os.NewFile(uintptr(fds[0]), "control")
	defer ours.Close()
	defer unix.Close(fds[1])
	if err := unix.Sendmsg(int(c.lifeline.Fd()), []byte{lifelineConn}, unix.UnixRights(fds[1]), nil, unix.MSG_NOSIGNAL); err != nil {
		return nil, c.lost(err)
	}
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

// call sends a request and waits for its reply. When ctx ends first, the
// connection is closed, which tells the engine to stop.
func (c *Client) call(ctx context.Context, req request) (reply, error) {
	return c.callWith(ctx, req, nil)
}

// callWith is call with an encoded plan.
func (c *Client) callWith(ctx context.Context, req request, encoded []byte) (reply, error) {
	var r reply
	conn, err := c.dial()
	if err != nil {
		return r, err
	}
	defer conn.Close()
	// Hanging up tells the engine to stop. A command that changes the lab waits until
	// it is restored.
	stop := context.AfterFunc(ctx, func() {
		_ = conn.CloseWrite()
		patience := time.Duration(0)
		if req.Verb == verbApply && c.lifeline == nil {
			patience = rollbackPatience
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
	})
	defer stop()
	watched := c.unlessStopped(conn)
	if err = send(conn, req, encoded); err == nil {
		if req.Meta.API.Objects != nil {
			sent := make(chan struct{})
			go sendObjects(conn, req.Meta.API.Objects, sent)
			defer func() {
				conn.Close()
				<-sent
			}()
		}
		err = gob.NewDecoder(conn).Decode(&r)
	}
	if stopped := watched(); stopped != nil && err != nil {
		return r, stopped
	}
	if ctx.Err() != nil && (err != nil || r.Err != "") {
		return r, ctx.Err()
	}
	if err != nil {
		return r, c.lost(err)
	}
	return r, r.error()
}

func send(conn net.Conn, req request, encoded []byte) error {
	if _, err := conn.Write([]byte{plainRequest}); err != nil {
		return err
	}
	req.Size, req.Objects = len(encoded), req.Meta.API.Objects != nil
	err := gob.NewEncoder(conn).Encode(req)
	if err == nil && len(encoded) > 0 { // without a plan, the engine may have answered already
		_, err = conn.Write(encoded)
	}
	return err
}

// rollbackPatience is how long an interrupted change may take to be undone.
const rollbackPatience = 30 * time.Second

// Apply makes the lab equal to the plan. With lines set, the result lists the changes
// as command lines.
func (c *Client) Apply(ctx context.Context, p *plan.Plan, meta Meta, lines bool) (Applied, error) {
	encoded, err := plan.Encode(p)
	if err != nil {
		return Applied{}, err
	}
	r, err := c.callWith(ctx, request{Verb: verbApply, Meta: meta, Lines: lines}, encoded)
	return r.Applied, err
}

// Info returns what the lab reports about itself.
func (c *Client) Info(ctx context.Context) (Info, error) {
	r, err := c.call(ctx, request{Verb: verbInfo})
	return r.Info, err
}

// Read returns the current state of the lab, and the last applied plan.
func (c *Client) Read(ctx context.Context) (have, want *plan.Plan, err error) {
	return c.read(ctx, request{Verb: verbRead})
}

// ReadAll is Read with all that agents and programs of the scenario have made, also links that nobody
// planned.
func (c *Client) ReadAll(ctx context.Context) (have, want *plan.Plan, err error) {
	return c.read(ctx, request{Verb: verbRead, All: true})
}

func (c *Client) read(ctx context.Context, q request) (have, want *plan.Plan, err error) {
	r, err := c.call(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if have, err = plan.Decode(string(r.Have)); err != nil {
		return nil, nil, err
	}
	want, err = plan.Decode(string(r.Want))
	return have, want, err
}

// Counters returns what the rules and virtual servers of the lab have counted.
func (c *Client) Counters(ctx context.Context) ([]plan.Counted, error) {
	r, err := c.call(ctx, request{Verb: verbCount})
	return r.Counted, err
}

// Probe dials the flows inside the lab and returns what happened to each, in
// order.
func (c *Client) Probe(ctx context.Context, flows []flow.Flow) ([]flow.Observation, error) {
	r, err := c.call(ctx, request{Verb: verbProbe, Flows: flows})
	return r.Observations, err
}

// Missing probes every feature inside the sandbox and returns those that are missing,
// with the reason.
func (c *Client) Missing(ctx context.Context) (map[feature.Feature]error, error) {
	r, err := c.call(ctx, request{Verb: verbTry})
	return r.missing(), err
}

// Detach lets the engine outlive this process. The lab must have a name.
func (c *Client) Detach() error {
	if _, err := c.lifeline.Write([]byte{lifelineDetach}); err != nil {
		return c.lost(err)
	}
	// The engine answers once it no longer depends on our end.
	if _, err := c.lifeline.Read(make([]byte, 1)); err != nil {
		return c.lost(err)
	}
	return nil
}

// Abandon ends an engine that was started and not detached, and waits until its
// processes are gone. One that hangs is killed.
func (c *Client) Abandon() {
	c.lifeline.Close()
	kill := time.AfterFunc(exitPatience, func() { _ = c.cmd.Process.Kill() })
	_ = c.cmd.Wait()
	kill.Stop()
	c.log.Close()
	if c.janitor != nil {
		sweep(c.name) // the engine was killed
		c.janitor.dismiss()
	}
}

// Down ends an engine that Start made, once the links of its lab are gone.
func (c *Client) Down(ctx context.Context) error {
	_, err := c.call(ctx, request{Verb: verbDown})
	c.Abandon()
	return err
}
