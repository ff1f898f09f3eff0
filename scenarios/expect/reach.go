package expect

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// Reach is one expect block about connections, as resolved: every pair of From
// and To is dialed, and each must end as the other fields say.
type Reach struct {
	Name     string
	Origin   topology.Origin // of the block: the location of the spec
	From     []Place
	To       []Target
	Protocol flow.Protocol
	Outcome  flow.Outcome
	// Allow says of each pair whether it connects, instead of Outcome, and without
	// Answers, Sources, Spread and Sticky; nil: all end alike.
	Allow *Allow
	// Answers are the agents one of which answers each connection, and each of
	// which answers some connection of every pair; nil: anybody answers.
	Answers []string
	// Sources has one entry per From when it is set: the server must see an
	// address inside one of the entry's prefixes.
	Sources [][]netip.Prefix
	Spread  *Spread
	// Sticky asks that all connections of a pair get the same answer; then one of
	// Answers is enough.
	Sticky bool
	// HTTP makes each connection a request; nil: it asks the agent who it is.
	HTTP *HTTP
	// Latency is about the round trip of TCP, or a datagram and its answer, in seconds;
	// Throughput about an upload over TCP, in bits per second; nil: not measured.
	Latency    *Bound
	Throughput *Bound
	MTU        int           // bytes of the largest packets that an upload sends; 0: not measured
	Count      int           // connections per pair; 0: as many as Answers and Spread need
	Within     time.Duration // deadline of one connection
	Retry      time.Duration // until when to try again after a wrong result
}

// Place is somebody who can dial.
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
	// NotFound is set when the name did not resolve: the outcome is dns.
	NotFound bool
}

// HTTP is one GET request, and what the response is to be.
type HTTP struct {
	Path   string
	Status int               // 0: any
	Header map[string]string // fields that the response must have, with these values
}

// Spread asks that answers are balanced.
type Spread struct {
	Tolerance float64 // allowed deviation of each share, as a fraction of it
	// Weights says how much of the whole each agent gets, in any unit; an agent
	// of Answers that is not listed gets nothing. Nil: equal shares.
	Weights map[string]float64
}

// Dial is one connection of a Reach: the N-th from one of From to one of To.
type Dial struct{ From, To, N int }

// Dials says which connection each flow of Flows is: for each dialer, for each
// target whose name resolved, all connections of the pair in a row.
func (r *Reach) Dials() []Dial {
	n := r.Connections()
	var dials []Dial
	for from := range r.From {
		for to := range r.To {
			if r.To[to].NotFound {
				continue
			}
			for i := range n {
				dials = append(dials, Dial{from, to, i})
			}
		}
	}
	return dials
}

// Flows are the connections of Dials, and after them those of whom they are compared
// with.
func (r *Reach) Flows() []flow.Flow {
	dials := r.Dials()
	flows := make([]flow.Flow, len(dials))
	for i, d := range dials {
		flows[i] = r.flow(d)
	}
	return append(flows, r.references()...)
}

func (r *Reach) flow(d Dial) flow.Flow {
	f := flow.Flow{From: r.From[d.From].Netns, To: r.To[d.To].at(d.N), Protocol: r.protocol(), Within: r.Within}
	if r.HTTP != nil {
		f.Path = r.HTTP.Path
	}
	if r.Throughput != nil || r.MTU != 0 {
		f.Upload = uploadSize
	}
	return f
}

// at is where the n-th connection goes.
func (t Target) at(n int) netip.AddrPort {
	if n %= 1 + len(t.Also); n > 0 {
		return t.Also[n-1]
	}
	return t.Addr
}

func (r *Reach) protocol() flow.Protocol {
	if r.Protocol == "" {
		return flow.TCP
	}
	return r.Protocol
}

func (r *Reach) outcome() flow.Outcome {
	if r.Outcome == "" {
		return flow.Connected
	}
	return r.Outcome
}

// How sure an expectation is about agents that choose at random.
const (
	// missed bounds the probability that a fair balancer leaves out an agent
	// of one pair though all is well.
	missed = 1e-9
	// sigmas is how many standard deviations a share may be off before it is
	// called unbalanced; a fair balancer is beyond in 2 of 1e9 cases.
	sigmas = 6
	// unknownSpread is the number of connections that show a spread over
	// agents that the expectation does not name.
	unknownSpread = 1000
	// unlikely is the number of connections that a fair balancer between two
	// agents gives the same answer with a probability below missed.
	unlikely = 31
)

// Connections is how many connections each pair makes: Count, or else as many as
// it takes to be sure of Answers and Spread.
func (r *Reach) Connections() int {
	if r.Count > 0 {
		return r.Count
	}
	if r.outcome() != flow.Connected {
		return 1
	}
	if r.Sticky {
		return unlikely
	}
	if r.Latency != nil && r.Spread == nil {
		return max(pings, toSeeAll(equalShares(r.Answers)))
	}
	if r.Spread == nil {
		return max(toSeeAll(equalShares(r.Answers)), r.addresses())
	}
	names := r.agents()
	if len(names) == 0 {
		return unknownSpread
	}
	shares := r.Spread.shares(names)
	return max(toSeeAll(shares), toSeeShares(shares, r.Spread.Tolerance))
}

// addresses is how many connections it takes to try every address of every target.
func (r *Reach) addresses() int {
	n := 1
	for _, t := range r.To {
		n = max(n, 1+len(t.Also))
	}
	return n
}

// agents are those of Answers, or else those that have weights.
func (r *Reach) agents() []string {
	if len(r.Answers) > 0 || r.Spread == nil {
		return r.Answers
	}
	var names []string
	for name := range r.Spread.Weights {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// shares is the expected share of each agent, of 1 in all.
func (s *Spread) shares(names []string) map[string]float64 {
	if len(s.Weights) == 0 {
		return equalShares(names)
	}
	whole := 0.0
	for _, name := range names {
		whole += s.Weights[name]
	}
	shares := map[string]float64{}
	for _, name := range names {
		if whole > 0 {
			shares[name] = s.Weights[name] / whole
		}
	}
	return shares
}

func equalShares(names []string) map[string]float64 {
	shares := map[string]float64{}
	for _, name := range names {
		shares[name] = 1 / float64(len(names))
	}
	return shares
}

// toSeeAll is the smallest number of connections after which the expected number
// of agents that were not seen is below missed; that bounds the probability that
// there is one.
func toSeeAll(shares map[string]float64) int {
	values := slices.Sorted(maps.Values(shares)) // floats add up differently in another order
	return 1 + sort.Search(math.MaxInt32, func(n int) bool {
		unseen := 0.0
		for _, share := range values {
			if share > 0 {
				unseen += math.Pow(1-share, float64(n+1))
			}
		}
		return unseen < missed
	})
}

// toSeeShares is the smallest number of connections for which the tolerance is at
// least so many standard deviations of each share: n·p·t ≥ σ·√(n·p·(1-p)).
func toSeeShares(shares map[string]float64, tolerance float64) int {
	if tolerance <= 0 {
		return 1 // no number is enough
	}
	n := 1.0
	for _, p := range shares {
		if p > 0 {
			// The last digits of a share are rounded; one more is no harm.
			n = max(n, math.Ceil(sigmas*sigmas*(1-p)/(p*tolerance*tolerance)-1e-9))
		}
	}
	return int(n)
}

// Describe says what is claimed, as in "laptop to 192.168.0.11:31380 over tcp:
// connected, answered by web-0, seen as 192.168.0.100".
func (r *Reach) Describe() string {
	var from, to []string
	for _, p := range r.From {
		from = append(from, p.Name)
	}
	for _, t := range r.To {
		to = append(to, t.Name)
	}
	return fmt.Sprintf("%s to %s over %s: %s", list(from, "and"), list(to, "and"), r.spoken(), r.claim())
}

func (r *Reach) claim() string {
	if r.Allow != nil {
		return r.Allow.wanted()
	}
	return r.wantedOf(-1)
}

// spoken is what the connections speak, in words.
func (r *Reach) spoken() string {
	if r.HTTP != nil {
		return "http"
	}
	return string(r.protocol())
}

// wantedOf says what one of From is to see, or, with -1, what all are.
func (r *Reach) wantedOf(from int) string {
	parts := []string{string(r.outcome())}
	if r.outcome() != flow.Connected {
		return parts[0]
	}
	switch len(r.Answers) {
	case 0:
	case 1:
		parts = append(parts, "answered by "+r.Answers[0])
	default:
		if r.Sticky {
			parts = append(parts, "answered by one of "+list(r.Answers, "and"))
			break
		}
		parts = append(parts, "answered by each of "+list(r.Answers, "and"))
	}
	if r.Sticky {
		parts = append(parts, "always the same")
	}
	if r.HTTP != nil && r.HTTP.Status != 0 {
		parts = append(parts, fmt.Sprintf("status %d", r.HTTP.Status))
	}
	if r.HTTP != nil {
		for _, name := range slices.Sorted(maps.Keys(r.HTTP.Header)) {
			parts = append(parts, name+": "+r.HTTP.Header[name])
		}
	}
	if sources := r.sourcesOf(from); len(sources) > 0 {
		parts = append(parts, "seen as "+list(sources, "or"))
	}
	parts = append(parts, r.wantedMeasures()...)
	if r.Spread != nil {
		parts = append(parts, fmt.Sprintf("shares within %g %%", 100*r.Spread.Tolerance))
	}
	return strings.Join(parts, ", ")
}

// sourcesOf are the sources that the server may see of one of From, or of any.
func (r *Reach) sourcesOf(from int) []string {
	var texts []string
	for i, prefixes := range r.Sources {
		if from >= 0 && i != from {
			continue
		}
		for _, p := range prefixes {
			text := p.String()
			if p.IsSingleIP() {
				text = p.Addr().String()
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
