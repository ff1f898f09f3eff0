package ingress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pires/go-proxyproto"
	"golang.org/x/net/netutil"

	"github.com/netlab/netlab/datapath/plan/httproute"
)

// What clients of a controller can take.
const (
	maxConns       = 512 // on each port
	maxHeader      = 64 << 10
	headerPatience = 10 * time.Second
	idlePatience   = time.Minute
)

// Config is what a controller needs of its owner.
type Config struct {
	Name string
	// Dial connects to an endpoint.
	Dial func(to netip.AddrPort, within time.Duration) (net.Conn, error)
	// Patience is how long an endpoint has to take a connection.
	Patience time.Duration
	// Identity is the body of what the controller answers itself, to a peer.
	Identity func(local, peer netip.AddrPort) []byte
	// Authority signs the certificates.
	Authority *Authority
	// ProxyProtocol says that connections begin with its header.
	ProxyProtocol bool
}

// Controller is a running controller.
type Controller struct {
	Config
	table atomic.Pointer[httproute.Table]

	servers []*http.Server
	ended   sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	open    map[net.Conn]bool
}

// Serve starts a controller on two listeners, for HTTP and HTTPS, which it closes. The caller
// must Close it.
func Serve(c Config, plain, secure net.Listener) *Controller {
	x := &Controller{Config: c, open: map[net.Conn]bool{}}
	x.table.Store(new(httproute.Table))
	proxy := &httputil.ReverseProxy{Rewrite: rewrite, ModifyResponse: respond, ErrorHandler: x.failed, ErrorLog: log.New(io.Discard, "", 0),
		Transport: &http.Transport{DialContext: x.connect, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader}}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: x.certificate}
	for _, l := range []struct {
		net.Listener
		tls bool
	}{{plain, false}, {secure, true}} {
		at := net.Listener(&tracked{netutil.LimitListener(l.Listener, maxConns), x})
		if c.ProxyProtocol {
			at = &proxyproto.Listener{Listener: at, ReadHeaderTimeout: headerPatience, ConnPolicy: always}
		}
		s := &http.Server{Handler: x.handler(proxy), ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0),
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, peerKey{}, peer(c))
			}}
		if l.tls {
			at = tls.NewListener(at, config)
		}
		x.servers = append(x.servers, s)
		x.ended.Go(func() { _ = s.Serve(at) }) // ends with Close
	}
	return x
}

// always wants the header of every connection.
func always(proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) { return proxyproto.REQUIRE, nil }

// Route replaces the routes. A request sees those before or those after.
func (x *Controller) Route(routes []httproute.Route) { x.table.Store(httproute.New(routes)) }

// Close closes the sockets and resets all connections: one in FIN_WAIT would keep its network
// namespace alive.
func (x *Controller) Close() {
	x.mu.Lock()
	x.closed = true
	for c := range x.open {
		reset(c)
	}
	x.mu.Unlock()
	for _, s := range x.servers {
		_ = s.Close()
	}
	x.ended.Wait()
}

func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// keep notes a connection until it is closed.
func (x *Controller) keep(c net.Conn) net.Conn {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		reset(c)
	}
	x.open[c] = true
	return &kept{c, x}
}

// kept is a connection of a controller.
type kept struct {
	net.Conn
	of *Controller
}

func (k *kept) Close() error {
	k.of.mu.Lock()
	delete(k.of.open, k.Conn)
	k.of.mu.Unlock()
	return k.Conn.Close()
}

// tracked is a listener whose connections the controller keeps.
type tracked struct {
	net.Listener
	of *Controller
}

func (l *tracked) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.of.keep(c), nil
}

// passing is what a request carries through the proxy: where it goes.
type passing struct {
	endpoints []netip.AddrPort // the first is tried first
	route     *httproute.Route
	asks      httproute.Request
}

type passingKey struct{}

// unreached says that no endpoint has taken a connection.
type unreached struct {
	error
	late bool // the last one did not answer at all
}

func (u *unreached) Unwrap() error { return u.error }

// handler chooses where requests go. A request that this controller has passed on before, and
// that comes back, goes nowhere.
func (x *Controller) handler(proxy http.Handler) http.Handler {
	via := "1.1 " + x.Name
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(r.Header.Values("Via"), via) {
			x.answer(w, r, http.StatusLoopDetected)
			return
		}
		asks := httproute.Request{Host: r.Host, Target: r.URL.RequestURI(), Secure: r.TLS != nil, Method: r.Method, Header: r.Header.Get}
		route, ok := x.table.Load().Choose(asks)
		if !ok {
			x.answer(w, r, http.StatusNotFound)
			return
		}
		if to := route.Filters.Redirect; to != nil {
			w.Header().Set("Location", route.Location(asks))
			x.answer(w, r, to.Status, route.Filters.Response)
			return
		}
		b := weighted(route.Backends)
		if b == nil || b.Refused {
			x.answer(w, r, http.StatusInternalServerError) // as the Gateway API wants it
			return
		}
		if len(b.Endpoints) == 0 {
			x.answer(w, r, http.StatusServiceUnavailable)
			return
		}
		n := rand.IntN(len(b.Endpoints))
		p := &passing{slices.Concat(b.Endpoints[n:], b.Endpoints[:n]), route, asks}
		r.Header.Add("Via", via)
		w.Header()[contentType] = nil // that of the endpoint, or none
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), passingKey{}, p)))
	})
}

const contentType = "Content-Type"

// weighted chooses a backend by the weights; nil: none has any.
func weighted(backends []httproute.Backend) *httproute.Backend {
	sum := 0
	for _, b := range backends {
		sum += b.Weight
	}
	if sum <= 0 {
		return nil
	}
	n := rand.IntN(sum)
	for i := range backends {
		if n -= backends[i].Weight; n < 0 {
			return &backends[i]
		}
	}
	return nil
}

// probeOption begins the connection option by which a probe marks its request. No proxy passes
// such options on, so it becomes the number that controllers give to requests, and the probe
// learns which program has answered.
const probeOption = "netlab-"

// rewrite makes the request to the endpoint of one to the controller. The host and the path stay,
// unless the route changes them.
func rewrite(r *httputil.ProxyRequest) {
	p := r.In.Context().Value(passingKey{}).(*passing)
	host, target := p.route.Rewritten(p.asks)
	if to, err := url.ParseRequestURI(target); err == nil && target != p.asks.Target {
		r.Out.URL = to
	}
	r.Out.URL.Scheme, r.Out.URL.Host = "http", p.endpoints[0].String()
	r.Out.Host = host
	r.SetXForwarded()
	if client, _, err := net.SplitHostPort(r.In.RemoteAddr); err == nil {
		r.Out.Header.Set("X-Real-IP", client)
	}
	r.Out.Header.Del("X-Request-Id")
	for _, option := range strings.Split(r.In.Header.Get("Connection"), ",") {
		if option = strings.TrimSpace(option); strings.HasPrefix(option, probeOption) && len(option) < 64 {
			r.Out.Header.Set("X-Request-Id", option)
		}
	}
	p.route.Filters.Request.Apply(r.Out.Header)
}

// respond makes the response to the client of that of an endpoint.
func respond(r *http.Response) error {
	r.Request.Context().Value(passingKey{}).(*passing).route.Filters.Response.Apply(r.Header)
	return nil
}

// connect connects to the first endpoint of a request that takes a connection.
func (x *Controller) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	p, ok := ctx.Value(passingKey{}).(*passing)
	if !ok {
		return nil, errors.New("no endpoint")
	}
	var err error
	for _, e := range p.endpoints[:min(len(p.endpoints), httproute.Attempts)] {
		var c net.Conn
		if c, err = x.Dial(e, x.Patience); err == nil {
			return x.keep(c), nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	late := net.Error(nil)
	return nil, &unreached{err, errors.As(err, &late) && late.Timeout()}
}

// failed answers a request that could not be passed on.
func (x *Controller) failed(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusBadGateway
	if u := (*unreached)(nil); errors.As(err, &u) && u.late {
		status = http.StatusGatewayTimeout
	}
	x.answer(w, r, status)
}

// answer is the controller's own response: it says who it is, and whom it sees.
func (x *Controller) answer(w http.ResponseWriter, r *http.Request, status int, changes ...httproute.Change) {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	seen, _ := r.Context().Value(peerKey{}).(netip.AddrPort)
	body := x.Identity(addrPort(local), seen)
	w.Header().Set(contentType, "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	for _, c := range changes {
		c.Apply(w.Header())
	}
	if w.Header().Get(contentType) == "" {
		w.Header()[contentType] = nil // or net/http guesses
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// peerKey is where a request has the other end of its connection, whomever that is for.
type peerKey struct{}

func peer(c net.Conn) netip.AddrPort {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if p, ok := c.(*proxyproto.Conn); ok {
		c = p.Raw()
	}
	return addrPort(c.RemoteAddr())
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}
