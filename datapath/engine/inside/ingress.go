//go:build linux

package inside

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/agents/ingress"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/probe"
)

// newAuthority makes the one that signs the certificates of all controllers. Programs that begin
// from then on trust it.
func (in *Lab) newAuthority() (*ingress.Authority, error) {
	a, err := ingress.NewAuthority("netlab ingress")
	if err == nil {
		text := a.PEM()
		in.trusted.Store(&text)
	}
	return a, err
}

// certificates is where programs of Debian and its relatives look for the authorities that they trust.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// Authority is a file with the certificate of the lab's authority, for programs that look for it
// elsewhere.
const Authority = "/run/netlab-ca.pem"

// trust lets programs of the mount namespace of the calling thread trust the lab's authority, too.
func trust(authority []byte) {
	if len(authority) == 0 || os.WriteFile(Authority, authority, 0o644) != nil {
		return
	}
	const all = "/run/netlab-certificates.crt"
	known, err := os.ReadFile(certificates)
	if err == nil && os.WriteFile(all, append(known, authority...), 0o644) == nil {
		_ = unix.Mount(all, certificates, "", unix.MS_BIND, "")
	}
}

// trusting is an environment in which programs trust the lab's authority, on machines without the
// file that trust extends.
func (in *Lab) trusting(env []string) []string {
	const variable = "SSL_CERT_FILE="
	if _, err := os.Stat(certificates); err == nil || in.trusted.Load() == nil || slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, variable) }) {
		return env
	}
	return append(slices.Clone(env), variable+Authority)
}

// requestsAtOnce is how many requests there are at a time in a lab with ingress controllers: each
// takes turns of goroutines on its way, and too many would all be late. A slow machine is slow for
// each of them.
func requestsAtOnce() int {
	slow := flow.TimeScale()
	return max(8, int(64/(slow*slow)))
}

// dialInTurn makes connections, requests through ingress controllers not all at once, whoever asks.
func (in *Lab) dialInTurn(ctx context.Context, flows []flow.Flow, space func(name string) (*netns.NS, error)) (all []flow.Observation) {
	if in.trusted.Load() == nil || !slices.ContainsFunc(flows, func(f flow.Flow) bool { return f.Path != "" }) {
		return in.server.Dial(ctx, flows, space)
	}
	for some := range slices.Chunk(flows, requestsAtOnce()) {
		select {
		case in.turn <- struct{}{}:
			all = append(all, in.server.Dial(ctx, some, space)...)
			<-in.turn
		case <-ctx.Done():
			all = append(all, in.server.Dial(ctx, some, space)...) // which says so of each
		}
	}
	return all
}

// gateway is the ingress controllers of a namespace. Their routes are kept while none runs.
type gateway struct {
	running map[string]*controller // by the name of the agent
	routes  []httproute.Route
}

// controller is an ingress controller with the namespace that it connects from.
type controller struct {
	*ingress.Controller
	ns *netns.NS
}

// begin starts a controller in the namespace of the thread.
func (g *gateway) begin(in *Lab, a occupant.Agent, ipv6 bool) error {
	g.end(a.Name)
	authority, err := in.authority()
	if err != nil {
		return err
	}
	family := "tcp4"
	if ipv6 {
		family = "tcp" // one socket for both
	}
	plain, err := net.Listen(family, ":"+strconv.Itoa(int(a.Ingress.HTTP)))
	if err != nil {
		return err
	}
	secure, err := net.Listen(family, ":"+strconv.Itoa(int(a.Ingress.HTTPS)))
	if err != nil {
		plain.Close()
		return err
	}
	ns, err := netns.Current()
	if err != nil {
		plain.Close()
		secure.Close()
		return err
	}
	c := &controller{ns: ns}
	c.Controller = ingress.Serve(ingress.Config{
		Name: a.Name,
		Dial: func(to netip.AddrPort, within time.Duration) (net.Conn, error) {
			return dialFrom(context.Background(), ns, "tcp", to, within)
		},
		Patience: flow.Stretched(flow.IngressPatience, flow.TimeScale()),
		Identity: func(local, peer netip.AddrPort) []byte {
			return probe.Answer{Name: a.Name, Node: a.Node, Proto: flow.TCP, Local: local, Peer: peer}.Line()
		},
		Authority: authority, ProxyProtocol: a.Ingress.ProxyProtocol,
	}, plain, secure)
	c.Route(g.routes)
	if g.running == nil {
		g.running = map[string]*controller{}
	}
	g.running[a.Name] = c
	return nil
}

// change changes the routes of all controllers.
func (g *gateway) change(add, remove []httproute.Route) {
	if len(add)+len(remove) == 0 {
		return
	}
	gone := make(map[httproute.Key]bool, len(add)+len(remove))
	for _, r := range slices.Concat(add, remove) {
		gone[r.Key()] = true
	}
	// A clone: running hands out the list.
	g.routes = slices.DeleteFunc(slices.Clone(g.routes), func(r httproute.Route) bool { return gone[r.Key()] })
	g.routes = append(g.routes, add...)
	slices.SortStableFunc(g.routes, httproute.Route.Compare)
	for _, c := range g.running {
		c.Route(g.routes)
	}
}

func (g *gateway) end(name string) {
	if c := g.running[name]; c != nil {
		c.Close()
		c.ns.Close()
		delete(g.running, name)
	}
}

func (g *gateway) endAll() {
	for name := range g.running {
		g.end(name)
	}
}
