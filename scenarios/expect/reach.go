package expect

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/topology"
)

// Reach is one expect block about connections, as resolved: every pair of From
// and To is dialed, and each must end as the other fields say.
type Reach struct {
	Name   string
	Origin topology.Origin // of the block: the location of the spec
	// During is the fault while which it is tried; nil: nothing is broken.
	During   *topology.Fault
	From     []Place
	To       []Target
	Protocol flow.Protocol
	Outcome  flow.Outcome
	// Mix is how the connections of every pair end, by weights, instead of Outcome; nil:
	// all end alike.
	Mix map[flow.Outcome]float64
	// Sometimes requires only that some connections of every pair are as claimed.
	Sometimes bool
	// Broken turns the claim round: no connection of any pair is as the other fields say.
	Broken bool
	// Allow says which pairs connect, instead of Outcome, and without Answers,
	// Sources, Spread and Sticky; nil: all pairs end alike.
	Allow *Allow
	// Answers are the agents one of which answers each connection, and each of
	// which answers some connection of every pair; nil: any agent may answer.
	Answers []string
	// Theirs is, by index in To, the agent that answers there, instead of Answers; nil: see
	// Answers.
	Theirs []string
	// Only says which pairs of From, then To, are part of the claim; nil: all.
	Only [][]bool
	// Sources has one entry per From when it is set: the server must see an
	// address inside one of the entry's prefixes.
	Sources [][]netip.Prefix
	// Forwarded is like Sources, for the client that a proxy tells the server.
	Forwarded [][]netip.Prefix
	Spread    *Spread
	// Sticky requires that all connections of a pair get the same answer; then one of
	// Answers is enough.
	Sticky bool
	// HTTP makes each connection a request; nil: it asks the agent who it is.
	HTTP *HTTP
	// Latency is about the round trip of TCP, or a datagram and its answer, in seconds;
	// Throughput about an upload over TCP, in bits per second; nil: not measured.
	Latency    *Bound
	Throughput *Bound
	MTU        int // bytes of the largest packets that an upload sends; 0: not measured
	Upload     int // bytes that are sent before the answer; 0: as many as is measured with, or none
	TTL        int // with which packets arrive; 0: any
	Count      int // connections per pair, at least; 0: as many as Answers and Spread need
	// State is claimed of hosts, and of what is seen of each connection beside its result.
	State []state.Claim
	// Proves are the sentences of other texts, such as requirements, that this is the proof of.
	Proves []string
	Within time.Duration // deadline of one connection
	Retry  time.Duration // how long to try again after a wrong result
}

// Place is a pod, node or client that can dial.
type Place struct {
	Name  string // as the reports show it: laptop, web-0, node1
	Netns string // in the plan
	Addrs []netip.Addr
}

// Target is something that can be dialed.
type Target struct {
	Name string // as the reports show it: service web:80, 192.168.0.11:31380
	Addr netip.AddrPort
	// Also are the other addresses that the name resolves to: connections take
	// turns, as resolvers rotate what they return.
	Also []netip.AddrPort
	// Host is the name by which it is dialed, if it is one: that of an HTTP request.
	Host string
	// NotFound is set when the name does not resolve: the outcome is dns.
	NotFound bool
	// Lookups say how each of From looks the name up; nil: it knows the address, or that there
	// is none.
	Lookups []*flow.Lookup
}

// flow is the n-th connection from one of From to one of To.
func (r *Reach) flow(from, to, n int) flow.Flow {
	f := flow.Flow{From: r.From[from].Netns, To: r.To[to].at(n), Lookup: r.To[to].lookup(from), Protocol: r.Transport(), Within: r.Within}
	if r.HTTP != nil {
		f.Path, f.Host, f.TLS, f.Proxied, f.Sends = r.HTTP.Path, cmp.Or(r.HTTP.Host, r.To[to].Host), r.HTTP.TLS, r.HTTP.Proxied, r.HTTP.Sends
		f.Look, f.Seen = flow.NamesOf(maps.Keys(r.HTTP.Header)), flow.NamesOf(maps.Keys(r.HTTP.Seen))
	}
	if f.Upload = r.Upload; f.Upload == 0 && (r.Throughput != nil || r.MTU != 0) {
		f.Upload = uploadSize
	}
	return f
}

// lookup is how a dialer finds the address; nil: it knows it.
func (t Target) lookup(from int) *flow.Lookup {
	if from >= len(t.Lookups) {
		return nil
	}
	return t.Lookups[from]
}

// at is where the n-th connection goes.
func (t Target) at(n int) netip.AddrPort {
	if n %= 1 + len(t.Also); n > 0 {
		return t.Also[n-1]
	}
	return t.Addr
}

// Transport is the protocol of the connections, TCP unless another is written.
func (r *Reach) Transport() flow.Protocol {
	if r.Protocol == "" {
		return flow.TCP
	}
	return r.Protocol
}

// Describe describes what is claimed, as in "laptop to 192.168.0.11:31380 over tcp:
// connected, answered by web-0, seen as 192.168.0.100".
func (r *Reach) Describe() string {
	var from, to []string
	for _, p := range r.From {
		from = append(from, p.Name)
	}
	for _, t := range r.To {
		to = append(to, t.Name)
	}
	var all []string
	if len(from) > 0 {
		all = append(all, fmt.Sprintf("%s to %s over %s: %s", list(from, "and"), list(to, "and"), r.spoken(), r.claim()))
	}
	for _, c := range r.State {
		all = append(all, fmt.Sprintf("%s: %s: %s", c.On().Name, c.Subject(), c.Wanted()))
	}
	return strings.Join(all, "; ")
}

func (r *Reach) claim() string {
	if r.Allow != nil {
		return r.Allow.wanted()
	}
	return r.wantedOf(-1)
}

// spoken describes the protocol of the connections.
func (r *Reach) spoken() string {
	switch {
	case r.HTTP != nil && r.HTTP.TLS:
		return "https"
	case r.HTTP != nil:
		return "http"
	}
	if r.Upload > 0 {
		return fmt.Sprintf("%s, an upload of %d bytes", r.Transport(), r.Upload)
	}
	return string(r.Transport())
}

// wantedOf describes what one of From should see, or, with -1, all of them.
func (r *Reach) wantedOf(from int) string {
	var parts []string
	for _, c := range checks {
		parts = append(parts, c.wanted(r, from)...)
		if !r.claims(flow.Connected) {
			break // no answer: the outcome, which comes first, is all there is
		}
	}
	text := strings.Join(parts, ", ")
	if r.Broken {
		text = "never " + text
	}
	return text
}

// list joins words as in "a, b and c".
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
