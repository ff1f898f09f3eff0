//go:build linux

package inside

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// dialSecure makes the requests over TLS among some flows, as a client does that trusts the
// lab's authority and nobody else, and fills in their observations.
func (in *Lab) dialSecure(ctx context.Context, flows []flow.Flow, seen []flow.Observation, space func(name string) (*netns.NS, error)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, min(64, requestsAtOnce()))
	for i, f := range flows {
		if !f.TLS || seen[i].Outcome != "" {
			continue
		}
		f.To = seen[i].Flow.To // as it was found
		ns, err := space(f.From)
		if err != nil {
			seen[i] = flow.Observation{Flow: f, Outcome: flow.Failed, Err: err.Error()}
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				seen[i] = flow.Observation{Flow: f, Outcome: flow.Failed, Err: ctx.Err().Error()}
				return
			}
			seen[i] = in.askSecurely(ctx, ns, f)
			seen[i].Flow = flows[i]
		})
	}
	all.Wait()
}

// askSecurely makes one request. A server whose certificate is not trusted has taken the
// connection, but gets no request.
func (in *Lab) askSecurely(ctx context.Context, ns *netns.NS, f flow.Flow) (o flow.Observation) {
	began := time.Now()
	within := cmp.Or(max(f.Within, 0), probe.DefaultWithin)
	o.Flow = f
	defer func() { o.Took = time.Since(began) }()
	plain, err := dialFrom(ctx, ns, "tcp", f.To, within)
	if err != nil {
		o.Outcome, o.Err = probe.OutcomeOf(err), err.Error()
		return o
	}
	defer func() {
		if t, ok := plain.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // leaves nothing in TIME_WAIT
		}
		plain.Close()
	}()
	stop := context.AfterFunc(ctx, func() { _ = plain.SetDeadline(time.Now()) })
	defer stop()
	_ = plain.SetDeadline(began.Add(within))
	authority, err := in.authority()
	if err != nil {
		o.Outcome, o.Err = flow.Failed, err.Error()
		return o
	}
	if a, ok := plain.LocalAddr().(*net.TCPAddr); ok {
		o.Local = a.AddrPort()
	}
	if _, err := plain.Write([]byte(probe.ProxyHeader(&f))); err != nil {
		o.Outcome, o.Err = probe.OutcomeOf(err), err.Error()
		return o
	}
	host := f.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	secure := tls.Client(plain, &tls.Config{RootCAs: authority.Pool(), ServerName: cmp.Or(host, f.To.Addr().String()), NextProtos: []string{"http/1.1"}})
	err = secure.HandshakeContext(ctx)
	switch {
	case ctx.Err() != nil:
		o.Outcome, o.Err = flow.Failed, ctx.Err().Error()
	case errors.Is(err, os.ErrDeadlineExceeded):
		o.Outcome, o.Err = flow.Timeout, "connected, but no handshake"
	case errors.Is(err, syscall.ECONNRESET):
		o.Outcome, o.Err = flow.Reset, err.Error()
	case err != nil:
		o.Outcome, o.Err = flow.Connected, err.Error()
	default:
		probe.Request(secure, &o)
	}
	return o
}
