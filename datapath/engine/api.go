//go:build linux

package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/agents/kubeapi"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// API is what a lab serves as a server of the Kubernetes API, read only. It is no part of the
// plan, like the control socket: no packet of the lab goes there.
type API struct {
	Version string // of Kubernetes
	Born    string // stands for the time at which an object was made
	// Objects makes a line of JSON for each object. Apply calls it while the engine is at work;
	// it is not there in an Info.
	Objects func() []byte
	// Netns are the namespaces in which it is served, at APIAddress.
	Netns []string
}

// APIAddress is where a lab serves the Kubernetes API inside its nodes: the port of a real
// server, on loopback.
var APIAddress = netip.MustParseAddrPort("127.0.0.1:6443")

// API connects to the server of the Kubernetes API of a lab.
func (c *Client) API(ctx context.Context) (net.Conn, error) {
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	var r reply
	in := &unbuffered{conn}
	if err = send(conn, request{Verb: verbAPI}, nil); err == nil {
		err = gob.NewDecoder(in).Decode(&r)
	}
	switch {
	case !stop():
		err = context.Cause(ctx)
	case err != nil:
		err = c.lost(err)
	default:
		err = r.error()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// unbuffered keeps gob from reading more than it decodes: what follows is not for it.
type unbuffered struct{ io.Reader }

func (u *unbuffered) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(u, b[:])
	return b[0], err
}

// sendObjects sends the objects after a request, and closes sent. The connection ends it.
func sendObjects(conn io.Writer, objects func() []byte, sent chan<- struct{}) {
	defer close(sent)
	lines := objects()
	if err := binary.Write(conn, binary.LittleEndian, uint64(len(lines))); err == nil {
		_, _ = conn.Write(lines) // who does not read them any more has answered
	}
}

// receiveObjects is the other end of sendObjects. What comes to an end too early are no objects.
func receiveObjects(in io.Reader) []byte {
	var size uint64
	if err := binary.Read(in, binary.LittleEndian, &size); err != nil || size > maxPlan {
		return nil
	}
	var lines bytes.Buffer // grows with what comes
	if _, err := io.CopyN(&lines, in, int64(size)); err != nil {
		return nil
	}
	return lines.Bytes()
}

// serveAPI makes a connection to the control socket one to the API.
func (e *engine) serveAPI(conn net.Conn, in io.Reader) {
	e.inside.mu.Lock()
	api := e.inside.api
	e.inside.mu.Unlock()
	if api == nil {
		_ = gob.NewEncoder(conn).Encode(reply{Err: "the lab is still being built, or has no name"})
		return
	}
	if err := gob.NewEncoder(conn).Encode(reply{}); err == nil {
		api.ServeConn(readFirst{conn, in})
	}
}

// readFirst is a connection of which a part has been read into a buffer.
type readFirst struct {
	net.Conn
	in io.Reader
}

func (c readFirst) Read(p []byte) (int, error) { return c.in.Read(p) }

// publish makes the API serve the lab as it is now. The lab does not depend on it: what goes wrong
// is for the log.
func (e *engine) publish(a API, objects []byte) {
	if e.folder == nil {
		return // nobody looks into a lab without a name
	}
	if err := e.inside.publish(a, objects, e.kernel.Namespace); err != nil {
		fmt.Fprintf(os.Stderr, "%sthe Kubernetes API: %v\n", logPrefix, err)
	}
}

// slowest is how long a lab stays locked for the objects of a request. A client that is
// stopped sends none.
const slowest = 10 * time.Second

// awaitObjects waits for the objects that follow a request; nil: none followed.
func awaitObjects(ctx context.Context, from <-chan []byte) []byte {
	if from == nil {
		return nil
	}
	select {
	case objects := <-from:
		return objects
	case <-ctx.Done():
	case <-time.After(slowest):
	}
	return nil
}

// publish serves objects in all namespaces in which nobody else has the port.
func (in *inside) publish(a API, objects []byte, space func(name string) (*netns.NS, error)) error {
	if a.Version == "" {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.api == nil {
		in.api = kubeapi.New(a.Version, a.Born)
	}
	if objects != nil {
		if err := in.api.Set(objects); err != nil {
			return err
		}
	}
	var failed []error
	var thread *netns.Thread
	for _, name := range a.Netns {
		ns, err := space(name)
		if err != nil || in.at(name).door != nil {
			continue
		}
		if thread == nil {
			thread = netns.NewThread()
			defer thread.Close()
		}
		var l net.Listener
		err = thread.Run(func(h netns.Here) error {
			err := h.Enter(ns)
			if err == nil {
				l, err = net.Listen("tcp4", APIAddress.String())
			}
			return err
		})
		switch {
		case err == nil:
			in.at(name).door = in.api.Open(l)
		case !errors.Is(err, unix.EADDRINUSE):
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// makeWay closes the door to the API if an agent or a program wants its port.
func (o *occupants) makeWay(add *plan.Netns) {
	if o.door == nil {
		return
	}
	wanted := func(listen []occupant.Listen) bool {
		for _, l := range listen {
			if l.Port == APIAddress.Port() && flow.Protocol(l.Protocol) == flow.TCP {
				return true
			}
		}
		return false
	}
	for _, a := range add.Agents {
		if wanted(a.Listen) {
			o.shut()
		}
	}
	for _, x := range add.Execs {
		if wanted(x.Listen) {
			o.shut()
		}
	}
}

// shut closes the door to the API, with all connections through it.
func (o *occupants) shut() {
	if o.door != nil {
		_ = o.door.Close()
		o.door = nil
	}
}
