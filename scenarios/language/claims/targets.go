package claims

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/topology"
)

// targets reads to, port and protocol of an expectation. A plain name is resolved in
// the namespaces of the dialers.
func (l *reader) targets(e *expect.Reach, c *expectBody, from []dialer, sc blocks.Scope) bool {
	protocol := topology.Protocol(l.Word(c.protocol, "protocol", sc, "", []string{"tcp", "udp", "sctp", "http"}, []string{"icmp"}))
	e.HTTP = l.http(c, protocol, sc)
	if e.HTTP != nil {
		protocol = topology.TCP
	}
	a := c.to
	v, ok := l.Value(a, sc)
	if !ok {
		return false
	}
	r := l.targetReader(e, c, a, from, sc)
	r.protocol = protocol
	for _, o := range blocks.ObjectsIn(v) {
		t, p, ok := r.read(o)
		if !ok {
			return false
		}
		if p != "" && e.Protocol != "" && e.Protocol != flow.Protocol(p) {
			l.Errorf(a.Expr.Range(), "Protocols differ", "Some of these are reached by %s, others by %s. Write an expectation for each, or set protocol.", e.Protocol, p)
			return false
		}
		if p != "" {
			e.Protocol = flow.Protocol(p)
		}
		e.To = append(e.To, t)
	}
	if len(e.To) == 0 {
		l.Errorf(a.Expr.Range(), "Nothing to dial", "to is an empty list, so nothing would be tried. Name a service, pod, node, client, router or \"address:port\".")
		return false
	}
	if protocol != "" {
		e.Protocol = flow.Protocol(protocol)
	}
	if e.Protocol == "" {
		e.Protocol = flow.TCP
	}
	return true
}

// targetReader prepares to read targets from an attribute.
func (l *reader) targetReader(e *expect.Reach, c *expectBody, a *hcl.Attribute, from []dialer, sc blocks.Scope) *targetReader {
	r := &targetReader{reader: l, at: a.Expr.Range(), protocol: topology.Protocol(e.Protocol), dns: e.Outcome == flow.DNS, from: from}
	if p := c.port; p != nil {
		r.port, r.portAt = l.TargetPort(p, sc).Value, p.Expr.Range()
	}
	return r
}

// targetReader reads the elements of to.
type targetReader struct {
	*reader
	at, portAt hcl.Range
	port       string // of the attribute: a number or a name
	protocol   topology.Protocol
	dns        bool // the expectation claims that the name does not resolve
	from       []dialer
}

// reject reports a target that cannot be dialed.
func (r *targetReader) reject(at hcl.Range, summary, format string, args ...any) (t expect.Target, protocol topology.Protocol, ok bool) {
	r.Errorf(at, summary, format, args...)
	return t, "", false
}

// read resolves one element. The protocol is "" if the target does not tell.
func (r *targetReader) read(v cty.Value) (t expect.Target, protocol topology.Protocol, ok bool) {
	if s, ok := blocks.AsText(v); ok {
		return r.text(s)
	}
	at, ok := r.places.Listener(r.object(v))
	name, ports := at.Name, at.Ports
	switch {
	case !ok && blocks.IsKind(v, targetKinds()...):
		r.Silent = true // not resolved, and reported
		return t, "", false
	case !ok:
		return r.reject(r.at, "Cannot dial that", "to must be a service, pod, node, client, router, \"address:port\" or a list of them, not %s. Refer to one, such as service.web.", blocks.QuoteOr(v))
	case len(at.Addrs) == 0 && r.dns:
		return expect.Target{Name: name, NotFound: true}, "", true
	case len(at.Addrs) == 0 && at.Alias != "":
		return r.reject(r.at, "Name does not resolve", "%s is an alias of %q, which is not a name of this lab. Set outcome = \"dns\" if that is what you expect.", name, at.Alias)
	case len(at.Addrs) == 0:
		return r.reject(r.at, "Name does not resolve", "%s is headless and has no ready endpoint, so its name has no address. Set outcome = \"dns\" if that is what you expect.", name)
	}
	number, protocol, ok := r.choose(name, ports)
	if !ok {
		return t, "", false
	}
	t.Name = fmt.Sprintf("%s:%d", name, number)
	names.SetAddrs(&t, at.Addrs, number)
	return t, protocol, true
}

// choose picks the port of an object: the one that the expectation names, else its
// only one.
func (r *targetReader) choose(name string, ports []topology.Port) (uint16, topology.Protocol, bool) {
	known := portNames(ports)
	fits := names.Fitting(ports, r.port, r.protocol)
	switch {
	case len(fits) == 1, len(fits) > 1 && r.port != "":
		return fits[0].Number, fits[0].Protocol, true
	case len(fits) > 1:
		r.Errorf(r.at, "Which port?", "%s has the ports %s. Add port = %q.", name, topology.OneOf(known), known[0])
		return 0, "", false
	case r.port == "":
		what := "port"
		if len(ports) > 0 {
			what = string(r.protocol) + " port"
		}
		r.Errorf(r.at, "No port to dial", "%s has no %s of its own. Add port = 80, or give it a port block.", name, what)
		return 0, "", false
	}
	// Another number may be dialed on purpose, to see what happens; but not of a
	// service, which has only its ports.
	if n, err := strconv.ParseUint(r.port, 10, 16); err == nil && n > 0 && !strings.HasPrefix(name, "service ") {
		return uint16(n), "", true
	}
	r.Errorf(r.portAt, "No such port", "%s has no port %q.%s", name, r.port, blocks.OrKnown(r.port, known))
	return 0, "", false
}

func portNames(ports []topology.Port) (out []string) {
	for _, p := range ports {
		out = append(out, p.Name)
	}
	return out
}

// text resolves "address:port" and "name:port".
func (r *targetReader) text(s string) (t expect.Target, protocol topology.Protocol, ok bool) {
	t.Name = s
	if scheme, rest, url := strings.Cut(s, "://"); url {
		authority, path, _ := strings.Cut(rest, "/")
		usual := "80"
		if scheme == "https" {
			usual = "443"
		}
		if _, _, given := names.CutPort(authority); !given {
			authority = names.WithPort(strings.Trim(authority, "[]"), usual)
		}
		hint := ""
		if strings.HasPrefix(scheme, "http") {
			hint = fmt.Sprintf(" A block http { path = %q } makes a request of it%s.", "/"+path, map[bool]string{true: ", with tls = true in it"}[scheme == "https"])
		}
		return r.reject(r.at, "URL instead of an address", "%q is a URL, and a connection leads to a name or address with a port. Write %q.%s", s, authority, hint)
	}
	host, port, found := names.CutPort(s)
	if !found {
		host, port = strings.Trim(s, "[]"), r.port
	}
	if bare := strings.TrimSuffix(host, ":"+afterColon(host)); port == "" && isIPv6(bare) {
		return r.reject(r.at, "IPv6 address without brackets", "An IPv6 address before a port stands in brackets. Write %q, or addr(ADDRESS, %s).", "["+bare+"]:"+afterColon(host), afterColon(host))
	}
	if port == "" {
		return r.reject(r.at, "No port to dial", "%q has no port. Write %q.", s, names.WithPort(host, "80"))
	}
	if !found {
		t.Name = s + ":" + port
	}
	addr, err := netip.ParseAddr(host)
	at := names.Answer{Addrs: []netip.Addr{addr}}
	if err != nil {
		var known bool
		t.Host = host
		if at, known, ok = r.lookUp(host, &t); !ok {
			return t, "", false
		}
		if !known || len(at.Addrs) == 0 {
			t.NotFound = true
			return t, "", true
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
		for _, p := range at.Ports {
			if p.Number == uint16(n) && (r.protocol == "" || r.protocol == p.Protocol) {
				protocol = p.Protocol
			}
		}
		names.SetAddrs(&t, at.Addrs, uint16(n))
		return t, protocol, true
	}
	if i := slices.IndexFunc(at.Ports, func(p topology.Port) bool { return p.Name == port }); i >= 0 {
		names.SetAddrs(&t, at.Addrs, at.Ports[i].Number)
		return t, at.Ports[i].Protocol, true
	}
	return r.reject(r.at, "No such port", "%q is not a port of %s.%s Use a number from 1 to 65535.", port, host, topology.DidYouMean(port, portNames(at.Ports)))
}

// lookUp resolves a name for all dialers, for whom it must mean the same, and notes how each
// looks it up. known says that there is such a name; if there is none, that is claimed.
func (r *targetReader) lookUp(host string, t *expect.Target) (at names.Answer, known, ok bool) {
	from := []any{nil} // outside all namespaces
	if len(r.from) > 0 {
		from = nil
	}
	for _, d := range r.from {
		from = append(from, r.object(d.object))
	}
	for i, object := range from {
		other, how, found := r.places.From(host, object)
		if i == 0 {
			at, known = other, found
		} else if !slices.Equal(other.Addrs, at.Addrs) {
			return r.dependsOn(host, at, from[0], other, object)
		}
		t.Lookups = append(t.Lookups, how)
	}
	if !known && !r.dns {
		r.Errorf(r.at, "Name does not resolve", "There is no service, pod, node, client or router %q.%s Set outcome = \"dns\" if that is what you expect.", host, r.places.DidYouMean(host))
		return at, false, false
	}
	return at, known, true
}

// dependsOn reports a name that is not the same for two dialers.
func (r *targetReader) dependsOn(host string, at names.Answer, first any, other names.Answer, object any) (names.Answer, bool, bool) {
	ns, home := namespaceOf(first), namespaceOf(object)
	if ns == home {
		r.Errorf(r.at, "Name depends on dialer", "%q is not the same for all dialers: not all of them ask the same name servers. Write an expectation for each.", host)
		return at, false, false
	}
	write := home
	if len(other.Addrs) == 0 {
		write = ns
	}
	r.Errorf(r.at, "Name depends on namespace", "%q is not the same in the namespaces %s and %s of the dialers. Write %q.", host, ns, home, host+"."+write)
	return at, false, false
}

// namespaceOf is that of a pod, and default for dialers outside all namespaces.
func namespaceOf(object any) string {
	if pod, ok := object.(*topology.Pod); ok {
		return pod.Namespace
	}
	return topology.DefaultNamespace
}

// afterColon is what follows the last colon.
func afterColon(s string) string { return s[strings.LastIndex(s, ":")+1:] }

func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// targetKinds are the objects that can be dialed.
func targetKinds() []string { return append([]string{"service"}, blocks.HostKinds...) }

// object is what an object of an expression stands for; nil if it is not one, or was not
// resolved.
func (l *reader) object(v cty.Value) any {
	if !blocks.IsKind(v, targetKinds()...) {
		return nil
	}
	return l.places.Object(blocks.TextOf(v, "kind"), blocks.TextOf(v, "namespace"), blocks.TextOf(v, "name"))
}

func (l *reader) place(v cty.Value) (expect.Place, bool) { return l.places.Place(l.object(v)) }

// suggest says, as a sentence, how to refer to what a text probably names.
func (l *reader) suggest(v cty.Value) string {
	name, ok := blocks.AsText(v)
	address := l.places.AddressOf(name)
	if kind, _, dotted := strings.Cut(name, "."); dotted && slices.Contains(blocks.ObjectKinds, kind) {
		address = name
	}
	if ok && address != "" {
		return " Write " + address + " without quotes."
	}
	return " Refer to one, such as node.node1."
}

// sourcesOf is what an object or a text means as the source of a packet.
func (l *reader) sourcesOf(v cty.Value) (out []netip.Prefix, ok bool) {
	addrs, ok := names.AllAddrs(l.object(v))
	if !ok {
		s, _ := blocks.AsText(v)
		prefix, ok := blocks.PrefixOf(s)
		return []netip.Prefix{prefix}, ok
	}
	for _, a := range addrs {
		out = append(out, netip.PrefixFrom(a, a.BitLen()))
	}
	return out, true
}
