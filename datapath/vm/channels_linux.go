package vm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

var escapes = regexp.MustCompile("\x1b(\\[[0-9;?]*[a-zA-Z]|c)")

// running is the host's side of a running machine.
type running struct {
	boot    Boot
	streams Streams
	started time.Time
	up      func() // called when the first job can start

	listeners map[port]*net.UnixListener
	workers   sync.WaitGroup

	mu     sync.Mutex
	got    map[port]int64 // bytes received
	more   *sync.Cond     // got has changed
	result Result
	broken error // the error of the guest or of this side
}

// listen opens the sockets that the emulator connects to.
func (r *running) listen(dir string) error {
	r.listeners, r.got = map[port]*net.UnixListener{}, map[port]int64{}
	r.more = sync.NewCond(&r.mu)
	for _, p := range ports() {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, string(p)), Net: "unix"})
		if err != nil {
			r.close()
			return err
		}
		r.listeners[p] = l
	}
	return nil
}

// serve starts draining all channels.
func (r *running) serve() {
	for p, l := range r.listeners {
		r.workers.Go(func() {
			conn, err := l.Accept()
			if err != nil {
				return // closed: the emulator never came
			}
			r.drain(p, conn)
		})
	}
}

// close ends all channels; what was received stays.
func (r *running) close() {
	for _, l := range r.listeners {
		l.Close()
	}
}

func (r *running) drain(p port, conn net.Conn) {
	defer conn.Close()
	switch p {
	case portOut:
		r.copy(p, r.streams.Out, conn)
	case portErr:
		r.copy(p, r.streams.Err, conn)
	case portTerminal:
		if r.streams.In != nil {
			// This reader ends with the process: reading a terminal cannot be
			// interrupted.
			go func() { _, _ = io.Copy(conn, r.streams.In) }()
		}
		r.copy(p, r.streams.Out, conn)
	case portArtifacts:
		r.artifacts(conn)
	case portControl:
		r.control(conn)
	}
}

// copy passes on what the guest prints. If the user's side breaks, the rest is still
// read, so that the guest does not block.
func (r *running) copy(p port, to io.Writer, from io.Reader) {
	if to == nil {
		to = io.Discard
	}
	_, err := io.Copy(to, counter{r, p, from})
	if err != nil && !errors.Is(err, net.ErrClosed) {
		r.fail(fmt.Errorf("output of the guest: %w", err))
	}
	_, _ = io.Copy(io.Discard, counter{r, p, from})
}

// counter counts the bytes read from a channel.
type counter struct {
	r    *running
	p    port
	from io.Reader
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.r.mu.Lock()
	c.r.got[c.p] += int64(n)
	c.r.more.Broadcast()
	c.r.mu.Unlock()
	return n, err
}

func (r *running) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
}

func (r *running) artifacts(conn net.Conn) {
	from := counter{r, portArtifacts, conn}
	if len(r.boot.Collect) > 0 {
		if err := unpack(from, r.boot.Artifacts); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			r.fail(fmt.Errorf("files of the guest: %w", err))
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

// control follows the events of the guest.
func (r *running) control(conn net.Conn) {
	tell := json.NewEncoder(conn)
	ended := make(chan struct{})
	defer close(ended)
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			r.fail(fmt.Errorf("control channel: %w", err))
			return
		}
		switch e.Kind {
		case eventReady:
			r.mu.Lock()
			r.result.Ready = time.Since(r.started)
			r.mu.Unlock()
			r.up()
			if r.streams.Ready != nil {
				r.streams.Ready(r.result.Ready)
			}
			if r.streams.Resized != nil {
				go r.resize(tell, ended)
			}
		case eventDone:
			r.mu.Lock()
			r.result.Jobs = append(r.result.Jobs, *e.Outcome)
			r.mu.Unlock()
			if r.streams.Progress != nil {
				r.streams.Progress(*e.Outcome)
			}
		case eventError:
			r.fail(fmt.Errorf("the guest: %s", e.Text))
		case eventEnd:
			r.await(e.Bytes)
			r.mu.Lock()
			r.result.Ended = true
			r.mu.Unlock()
			_ = tell.Encode(request{Bye: true})
		}
	}
}

// await returns when as many bytes have arrived as the guest has sent.
func (r *running) await(sent map[port]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, n := range sent {
		for r.got[p] < n {
			r.more.Wait()
		}
	}
}

func (r *running) resize(tell *json.Encoder, ended <-chan struct{}) {
	for {
		select {
		case size := <-r.streams.Resized:
			_ = tell.Encode(request{Rows: size.Rows, Cols: size.Cols})
		case <-ended:
			return
		}
	}
}
