package policytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
)

// holdVariable makes this program hold connections: protocol and address of each,
// separated by spaces.
const holdVariable = "NLAB_TEST_HOLD"

// round tells a holder to send a request on all connections at once, to wait for the
// answers on live ones, and then a little for any other.
type round struct{ Live []int }

// still is long enough for retransmissions of a cut connection.
const (
	live  = 10 * time.Second
	still = 450 * time.Millisecond
)

// hold is the main function of the holder process. For each round it prints which
// connections answered.
func hold(targets string) int {
	var list []*held
	for i, t := range strings.Split(targets, " ") {
		protocol, to, _ := strings.Cut(t, "/")
		h, err := dial(protocol, to)
		if err != nil {
			fmt.Fprintf(os.Stderr, "connection %d: %v\n", i, err)
			return 1
		}
		list = append(list, h)
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var r round
		if in.Decode(&r) != nil {
			return 0
		}
		if out.Encode(ask(list, r)) != nil {
			return 1
		}
	}
}

// ask sends a line on each connection.
func ask(list []*held, r round) []bool {
	quiet := make(chan struct{})
	answers := make([]bool, len(list))
	var all, lives sync.WaitGroup
	expected := map[int]bool{}
	for _, i := range r.Live {
		expected[i] = true
		lives.Add(1)
	}
	for i, h := range list {
		all.Add(1)
		go func() {
			defer all.Done()
			if expected[i] {
				defer lives.Done()
				answers[i] = h.ask(time.After(live))
				return
			}
			patience := make(chan time.Time)
			go func() { <-quiet; close(patience) }()
			answers[i] = h.ask(patience)
		}()
	}
	lives.Wait()
	time.AfterFunc(still, func() { close(quiet) })
	all.Wait()
	return answers
}

// held is a connection that stays open.
type held struct {
	net.Conn
	datagrams bool
	lines     chan struct{} // one for each answer
	gone      chan struct{} // closed when the connection ends
}

func dial(protocol, to string) (*held, error) {
	c, err := net.DialTimeout(protocol, to, live)
	if err != nil {
		return nil, err
	}
	if stream, ok := c.(*net.TCPConn); ok {
		_ = stream.SetLinger(0) // otherwise a cut connection would keep its namespace alive
	}
	h := &held{Conn: c, datagrams: protocol == "udp", lines: make(chan struct{}, 100), gone: make(chan struct{})}
	go h.read()
	return h, nil
}

func (h *held) read() {
	r := bufio.NewReader(h)
	for {
		_, err := r.ReadString('\n')
		switch {
		case err == nil:
			h.lines <- struct{}{}
		case !h.datagrams:
			close(h.gone)
			return
		}
	}
}

// ask reports whether an answer comes in time. Datagrams are sent again.
func (h *held) ask(patience <-chan time.Time) bool {
	for len(h.lines) > 0 {
		<-h.lines
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	_, _ = fmt.Fprintln(h, "who")
	for {
		select {
		case <-h.lines:
			return true
		case <-h.gone:
			return false
		case <-patience:
			return false
		case <-again.C:
			if h.datagrams {
				_, _ = fmt.Fprintln(h, "who")
			}
		}
	}
}

// holder is a process that holds connections from inside a lab.
type holder struct {
	flows []string
	in    *json.Encoder
	out   *json.Decoder
}

// startHolder opens the connections, which end with the test.
func startHolder(t *testing.T, lab *engine.Client, netns string, flows []flow.Flow) *holder {
	t.Helper()
	h := &holder{}
	for _, f := range flows {
		h.flows = append(h.flows, fmt.Sprintf("%s/%s", f.Protocol, f.To))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inRead, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.in, h.out = json.NewEncoder(in), json.NewDecoder(out)
	done := make(chan error, 1)
	go func() {
		code, err := lab.Exec(t.Context(), engine.Command{Netns: netns, Argv: []string{self}, Stdin: inRead, Stdout: outWrite, Stderr: os.Stderr,
			Env: []string{holdVariable + "=" + strings.Join(h.flows, " ")}})
		if err == nil && code != 0 {
			err = fmt.Errorf("exit status %d", code)
		}
		inRead.Close()
		outWrite.Close()
		done <- err
	}()
	t.Cleanup(func() {
		in.Close()
		<-done
		out.Close()
	})
	return h
}

// round sends a request on all connections, and returns which answered.
func (h *holder) round(live []int) ([]bool, error) {
	if err := h.in.Encode(round{live}); err != nil {
		return nil, err
	}
	var answers []bool
	err := h.out.Decode(&answers)
	return answers, err
}
