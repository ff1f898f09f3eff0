//go:build linux

package inside

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/cell"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

const (
	// tryPatience is how long one try to find out whether a program is ready may take.
	tryPatience = time.Second
	// settles is how long a program runs of which nothing else is known, before it counts
	// as ready: most mistakes end it sooner.
	settles = 100 * time.Millisecond
	// lastLines is how much of its output tells why a program failed.
	lastLines = 10
)

// Begun are programs that have begun.
type Begun []*program

// AwaitReady waits until they are ready, and returns what is wrong with the first that is
// not.
func (list Begun) AwaitReady(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	for _, p := range list {
		all.Go(func() error { return p.awaitReady(ctx) })
	}
	return all.Wait()
}

func (p *program) awaitReady(ctx context.Context) error {
	within := time.Duration(float64(p.Ready.Within) * flow.TimeScale())
	select {
	case <-p.once:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.over:
		p.mu.Lock()
		defer p.mu.Unlock()
		why := p.state
		switch {
		case why == "exited 0":
			why += " before it was ready: it must stay in the foreground"
		case !strings.HasPrefix(why, notStarted):
			why += " before it was ready"
		}
		return p.failure(why)
	case <-time.After(within):
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	why := fmt.Sprintf("is not ready after %v: it does not %s", within, p.Awaits())
	if p.lastTry != "" {
		why += " (" + p.lastTry + ")"
	}
	if p.restarts > 0 {
		why += fmt.Sprintf("; it was started %d times", p.restarts+1)
	}
	return p.failure(why)
}

// becomeReady tries until the program is ready, or ctx ends with it.
func (p *program) becomeReady(ctx context.Context) {
	for pause := 2 * time.Millisecond; !p.isReady(ctx); pause = min(2*pause, 100*time.Millisecond) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// failure is called with the lock held.
func (p *program) failure(why string) error {
	said := slices.DeleteFunc(p.output.last(lastLines), func(line string) bool { return line == noted+p.state })
	return &ProgramError{Pod: p.Name, File: p.Origin.File, Line: p.Origin.Line, Why: why, Output: said, Refused: p.refused, Image: p.refused && p.Image.Digest != "",
		Virtual: !p.open() && slices.Contains(p.Needs, string(feature.IPVS))}
}

// isReady tries once.
func (p *program) isReady(ctx context.Context) bool {
	ran := time.Since(p.began())
	var err error
	switch r := p.Ready; {
	case r.TCP != 0:
		var conn net.Conn
		if conn, err = p.dial(r.TCP); err == nil {
			conn.Close()
		}
	case r.HTTP != "":
		if err = p.get(r.Port, r.HTTP); err == nil {
			err = p.written(r.Families)
		}
	case len(r.Exec) > 0:
		err = p.check(ctx, r.Exec)
	case len(p.Listen) > 0:
		err = p.listens()
	case ran < settles:
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready, p.lastTry = err == nil && ctx.Err() == nil, ""
	if err != nil {
		p.lastTry = strings.TrimSpace(err.Error())
	}
	if p.ready {
		select {
		case <-p.once:
		default:
			close(p.once)
		}
	}
	return p.ready
}

// dial connects to a port of the pod, from inside.
func (p *program) dial(port uint16) (conn net.Conn, err error) {
	err = p.ns.Do(func() (err error) {
		d := net.Dialer{Timeout: tryPatience, FallbackDelay: -1}
		conn, err = d.Dial("tcp", netip.AddrPortFrom(p.Addrs[0], port).String())
		return err
	})
	return conn, err
}

// get expects a good answer to a request.
func (p *program) get(port uint16, path string) error {
	answer, err := p.request(port, path)
	if err == nil {
		answer.Close()
	}
	return err
}

// request returns what a program answers to a request, if its status is good.
func (p *program) request(port uint16, path string) (io.ReadCloser, error) {
	conn, err := p.dial(port)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(tryPatience))
	res, err := ask(conn, path)
	if err == nil && (res.StatusCode >= http.StatusBadRequest || res.StatusCode < http.StatusOK) {
		err = errors.New("status " + res.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{res.Body, conn}, nil
}

func ask(conn net.Conn, path string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+conn.RemoteAddr().String()+path, nil)
	if err != nil {
		return nil, err
	}
	req.Close = true
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(conn), req)
}

// kubeProxyMetrics is where kube-proxy has its metrics (--metrics-bind-address).
const kubeProxyMetrics = 10249

// written finds out whether kube-proxy has written its rules, for some families. It is healthy
// before it has written any (SyncLoop in pkg/proxy/iptables/proxier.go); its metrics say when.
func (p *program) written(families []string) error {
	if len(families) == 0 {
		return nil
	}
	answer, err := p.request(kubeProxyMetrics, "/metrics")
	if err != nil {
		return err
	}
	defer answer.Close()
	return rulesWritten(answer, families, time.Now())
}

// rulesWritten reads from kube-proxy's metrics whether it has written the rules of some families,
// and everything that it has heard of since. It writes first when it knows services and endpoints;
// what it hears of later, such as the zone of its node, it queues, and writes within its minimum
// sync period. The metrics are per family since Kubernetes 1.34.
func rulesWritten(metrics io.Reader, families []string, now time.Time) error {
	const (
		most = 4 << 20
		did  = "kubeproxy_sync_proxy_rules_last_timestamp_seconds"
		asks = "kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds"
		// It also notes that something is queued when it begins, which may be after it has written
		// its first rules; then nothing comes. Its minimum sync period is a second.
		idle = 5 * time.Second
	)
	at := map[string]float64{}
	for lines := bufio.NewScanner(io.LimitReader(metrics, most)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if strings.HasPrefix(name, did) || strings.HasPrefix(name, asks) {
			at[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	for _, f := range families {
		of := fmt.Sprintf("{ip_family=%q}", f)
		last, queued := max(at[did], at[did+of]), max(at[asks], at[asks+of])
		switch {
		case last == 0:
			return errors.New("it has not written the rules for " + f)
		case queued > last && now.Sub(time.UnixMilli(int64(queued*1000))) < idle:
			return errors.New("it is about to write the rules for " + f + " again")
		}
	}
	return nil
}

// began is when the process was started.
func (p *program) began() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.since
}

// check runs a command beside the program.
func (p *program) check(ctx context.Context, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*tryPatience)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	said := output{tell: func() {}}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer r.Close()
		_, _ = io.Copy(&said, r)
	}()
	cmd, err := p.beside(argv, w)
	w.Close()
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
		err = cmd.Wait()
		stop()
	}
	select {
	case <-heard:
	case <-time.After(tryPatience): // a child of it lives on
	}
	if err != nil {
		err = errors.New(strings.Join(append([]string{err.Error()}, said.last(3)...), ": "))
	}
	return err
}

// beside starts a command where the program is, as the program was started.
func (p *program) beside(argv []string, out *os.File) (cmd *exec.Cmd, err error) {
	stdin, err := textFile("", 0)
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	pid := p.confinedPID()
	err = p.ns.Do(func() (err error) {
		if pid != 0 {
			cmd, err = cell.Join(confined(&p.Exec, argv), pid, opener(p.ns), false, stdin, out, out)
			return err
		}
		if _, err = p.enter(); err != nil {
			return err
		}
		x := p.Exec
		x.Argv = argv
		cmd, err = startOpen(&x, stdin, out)
		return err
	})
	return cmd, err
}

// listens checks, without a connection that the program would notice, whether it listens on
// all its ports, at all addresses of the pod.
func (p *program) listens() error {
	var open []socketRecord
	err := p.ns.Do(func() (err error) {
		open, err = openSockets()
		return err
	})
	if err != nil {
		return err
	}
	var missing []string
	for _, l := range p.Listen {
		for _, a := range p.Addrs {
			here := func(s socketRecord) bool { return s.Listen == l }
			if slices.ContainsFunc(open, func(s socketRecord) bool { return here(s) && s.takes(a) }) {
				continue
			}
			text := fmt.Sprintf("nothing on %s %s", l.Protocol, netip.AddrPortFrom(a, l.Port))
			if i := slices.IndexFunc(open, here); i >= 0 {
				text += ", only on " + open[i].addr.String()
			}
			missing = append(missing, text)
		}
	}
	if len(missing) > 0 {
		return errors.New(strings.Join(missing, "; "))
	}
	return nil
}

// socketRecord is a socket that waits for clients.
type socketRecord struct {
	occupant.Listen
	addr netip.Addr // unspecified: any
}

func (s socketRecord) takes(a netip.Addr) bool {
	return s.addr == a || s.addr == netip.IPv6Unspecified() || s.addr.IsUnspecified() && s.addr.Is6() == a.Is6()
}

// openSockets lists the sockets that wait for clients in the network namespace of the
// calling thread (proc_net_tcp.rst).
func openSockets() ([]socketRecord, error) {
	var all []socketRecord
	const listening, unconnected = "0A", "07" // TCP_LISTEN and TCP_CLOSE in net/tcp_states.h
	for _, table := range []struct{ file, protocol, state string }{
		{"tcp", "tcp", listening}, {"tcp6", "tcp", listening}, {"udp", "udp", unconnected}, {"udp6", "udp", unconnected}, {"sctp/eps", "sctp", ""},
	} {
		text, err := os.ReadFile("/proc/thread-self/net/" + table.file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if table.protocol == "sctp" {
				if len(words) > 5 {
					if port, err := strconv.ParseUint(words[5], 10, 16); err == nil {
						all = append(all, socketRecord{occupant.Listen{Protocol: "sctp", Port: uint16(port)}, netip.IPv6Unspecified()})
					}
				}
				continue
			}
			if len(words) > 3 && words[3] == table.state {
				address, port, _ := strings.Cut(words[1], ":")
				number, err := strconv.ParseUint(port, 16, 16)
				if addr, ok := procAddr(address); ok && err == nil {
					all = append(all, socketRecord{occupant.Listen{Protocol: table.protocol, Port: uint16(number)}, addr})
				}
			}
		}
	}
	return all, nil
}

// procAddr is an address as /proc/net writes it: words of four bytes, each in the order of
// the host.
func procAddr(text string) (netip.Addr, bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b)%4 != 0 {
		return netip.Addr{}, false
	}
	if hostIsLittle {
		for i := 0; i < len(b); i += 4 {
			slices.Reverse(b[i : i+4])
		}
	}
	addr, ok := netip.AddrFromSlice(b)
	return addr.Unmap(), ok
}

// hostIsLittle reports the byte order of this machine.
var hostIsLittle = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
