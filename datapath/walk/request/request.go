package request

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// Answered is a header field, by its name in lower case, of what an agent or a controller answers;
// false: it is not in the plan.
func Answered(who *occupant.Agent, name string) (string, bool) {
	switch name {
	case "connection", "content-length", "date":
		return "", false
	case "content-type":
		return "application/json", true
	}
	return "", who.Health == (occupant.Health{})
}

// Asked is what an agent sees of a request.
func Asked(f flow.Flow) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case flow.SeenHost:
			return cmp.Or(f.Host, f.To.String()), true
		case flow.SeenPath:
			return f.Path, true
		}
		return f.Sends.Get(name), true
	}
}

// Unknown is what a program says.
func Unknown(string) (string, bool) { return "", false }

// forwardedFor is the header field by which proxies name the client.
const forwardedFor = "X-Forwarded-For"

// Forwarded is the client that a request names.
func Forwarded(f flow.Flow) netip.Addr {
	first, _, _ := strings.Cut(f.Sends.Get(forwardedFor), ",")
	a, _ := netip.ParseAddr(strings.TrimSpace(first))
	return a
}

// PassedOn is the request to an endpoint, without its address, that a controller makes of one of a
// client.
func PassedOn(f flow.Flow, who *occupant.Agent, route *httproute.Route, asks httproute.Request, client netip.Addr) flow.Flow {
	next := flow.Flow{Protocol: flow.TCP, Within: flow.IngressPatience, Sends: f.Sends, Look: f.Look, Seen: f.Seen}
	next.Host, next.Path = route.Rewritten(asks)
	for _, hop := range []string{"Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Proxy-Authenticate", "Proxy-Authorization", "Forwarded"} {
		next.Sends.Del(hop) // as httputil.ReverseProxy does
	}
	next.Sends.Add("Via", "1.1 "+who.Name)
	next.Sends.Set(forwardedFor, client.String())
	next.Sends.Set("X-Forwarded-Host", asks.Host)
	next.Sends.Set("X-Forwarded-Proto", map[bool]string{false: "http", true: "https"}[asks.Secure])
	next.Sends.Set("X-Real-IP", client.String())
	route.Filters.Request.Apply(&next.Sends)
	return next
}

// Changed are the header fields of a response after a change: what is set or removed is known.
func Changed(look flow.Names, have flow.Picked, c httproute.Change) flow.Picked {
	var fields flow.Fields
	for name, value := range have.All() {
		fields.Set(name, value)
	}
	c.Apply(&fields)
	return look.Pick(func(name string) (string, bool) {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		_, known, _ := have.Get(name)
		known = known || slices.ContainsFunc(c.Set, func(h httproute.Header) bool { return same(h.Name) }) || slices.ContainsFunc(c.Remove, same)
		return fields.Get(name), known
	})
}
