package claims

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/source"
)

// httpHost reads the host of a request: a name or an address, perhaps with a port.
func (l *reader) httpHost(out *expect.HTTP, b *httpBody) {
	if !b.host.Set {
		return
	}
	out.Host = b.host.Value
	allowed := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(".-_:[]", c)
	}
	if out.Host == "" || len(out.Host) > 260 || strings.ContainsFunc(out.Host, func(c rune) bool { return !allowed(c) }) {
		l.Errorf(source.RangeOf(b.host.Origin), "Invalid host", "host is a name or an address, perhaps with a port. Write host = \"shop.example\".")
		out.Host = ""
	}
}

// sends reads header fields of a request, in the order of their names.
func (l *reader) sends(out *expect.HTTP, b *httpBody, block *blocks.Block) {
	const most = 4096 // bytes of all
	for _, name := range slices.Sorted(maps.Keys(b.sends)) {
		value := b.sends[name]
		switch lower := strings.ToLower(name); {
		case !isHeader(name, value):
			l.Errorf(block.KindRange, "Invalid header", "%q is not a header field that can be sent: a name without spaces and colons, and a value of printable ASCII. Write sends = { X-Version = \"2\" }.", name)
			return
		case slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding"}, lower) || strings.HasPrefix(lower, "x-forwarded-"):
			l.Errorf(block.KindRange, "Header of the connection", "The header field %q follows from the request itself, or is what a proxy sets. Write host = …, or remove it.", name)
			return
		}
		out.Sends += flow.Fields(name + ": " + strings.TrimSpace(value) + "\n")
	}
	if len(out.Sends) > most {
		l.Errorf(block.KindRange, "Header too large", "These header fields have more than %d bytes. Send fewer.", most)
		out.Sends = ""
	}
}

// isHeader reports whether a header field can be sent (RFC 9110, 5.5 and 5.6.2).
func isHeader(name, value string) bool {
	token := func(c rune) bool { return c > ' ' && c < 0x7f && !strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c) }
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool { return !token(c) }) && !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' })
}

// seen reads what a request should be when it reaches the server.
func (l *reader) seen(out *expect.HTTP, b *httpBody, block *blocks.Block) {
	out.Seen = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(b.seen)) {
		switch lower := strings.ToLower(name); {
		case !isHeader(name, b.seen[name]):
			l.Errorf(block.KindRange, "Invalid header", "%q is not a header field that a server can see: a name without spaces and colons, and a value of printable ASCII. Write seen = { X-Version = \"2\" }.", name)
		case slices.Contains([]string{"host", "connection", "content-length", "transfer-encoding", "x-request-id"}, lower):
			l.Errorf(block.KindRange, "Header of the connection", "The header field %q follows from the connection itself. Write seen_host = …, or remove it.", name)
		default:
			out.Seen[name] = b.seen[name]
		}
	}
	if b.seenHost.Set {
		out.Seen[flow.SeenHost] = b.seenHost.Value
	}
	if b.seenPath.Set {
		out.Seen[flow.SeenPath] = b.seenPath.Value
	}
}

// mute rejects claims about a response that is not to come.
func (l *reader) mute(out *expect.HTTP, c *expectBody, b *httpBody) {
	if out.Mute && (out.Status != 0 || len(out.Header)+len(out.Seen) > 0 || c.answer != nil || c.source != nil || c.forwarded != nil) {
		l.Errorf(source.RangeOf(b.response.Origin), "No response expected", "Without a response there is no status, header, answer or source. Remove these, or response.")
	}
}

// proxied reads the header of the PROXY protocol that comes before a request.
func (l *reader) proxied(out *expect.HTTP, b *httpBody) {
	const clientPort = 40000 // nobody looks at it
	version := b.version.Or(1)
	switch {
	case b.version.Set && (version < 1 || version > 2):
		l.Errorf(source.RangeOf(b.version.Origin), "No such version", "The PROXY protocol has the versions 1 and 2, not %d. Use one of them.", version)
	case b.version.Set && !b.client.Set:
		l.Errorf(source.RangeOf(b.version.Origin), "Header without client", "A header of the PROXY protocol names a client. Add proxied_for = \"198.51.100.7\".")
	case b.client.Set:
		out.Proxied = flow.Proxied{Version: version, Client: netip.AddrPortFrom(b.client.Value, clientPort)}
	}
}
