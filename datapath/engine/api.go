//go:build linux

package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/netlab/netlab/datapath/engine/inside"
)

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
	api := e.inside.API()
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
func (e *engine) publish(a inside.API, objects []byte) {
	if e.folder == nil && !e.kernel.Applied().HasAgents() {
		return // nobody looks into a lab without a name
	}
	if err := e.inside.Publish(a, objects, e.kernel.Namespace); err != nil {
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
