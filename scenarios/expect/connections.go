package expect

import (
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/netlab/netlab/datapath/flow"
)

// How sure an expectation is about agents that choose at random.
const (
	// Missed bounds the probability that a fair balancer leaves out an agent
	// of one pair although nothing is wrong.
	Missed = 1e-9
	// sigmas is how many standard deviations a share may be off before it is
	// called unbalanced; a fair balancer exceeds that in 2 of 1e9 cases.
	sigmas = 6
	// unknownSpread is the number of connections that show a spread over
	// agents that the expectation does not name.
	unknownSpread = 1000
	// unlikely is the number of connections to which a fair balancer between two
	// agents gives the same answer with a probability below Missed.
	unlikely = 31
)

// Connections is how many connections each pair makes: Count, or else as many as
// it takes to be sure of Answers and Spread.
func (r *Reach) Connections() int {
	if r.Count > 0 {
		return max(r.Count, r.addresses())
	}
	if !r.claims(flow.Connected) {
		return 1
	}
	if r.Mix != nil {
		shares := map[string]float64{}
		for o, share := range r.outcomesOf(0, 0) {
			shares[string(o)] = share
		}
		return max(ToSeeAll(shares), toSeeShares(shares, mixTolerance))
	}
	if r.Sticky {
		return unlikely
	}
	if r.Latency != nil && r.Spread == nil {
		return max(pings, ToSeeAll(equalShares(r.Answers)))
	}
	if r.Spread == nil {
		return max(ToSeeAll(equalShares(r.Answers)), r.addresses())
	}
	names := r.agents()
	if len(names) == 0 {
		return unknownSpread
	}
	shares := r.Spread.shares(names)
	return max(ToSeeAll(shares), toSeeShares(shares, r.Spread.Tolerance))
}

// addresses is how many connections it takes to try every address of every target.
func (r *Reach) addresses() int {
	n := 1
	for _, t := range r.To {
		n = max(n, 1+len(t.Also))
	}
	return n
}

// ToSeeAll is the smallest number of connections after which the expected number
// of agents that were not seen is below Missed; that bounds the probability that
// there is one.
func ToSeeAll(shares map[string]float64) int {
	values := slices.Sorted(maps.Values(shares)) // floats add up differently in another order
	return 1 + sort.Search(math.MaxInt32, func(n int) bool {
		unseen := 0.0
		for _, share := range values {
			if share > 0 {
				unseen += math.Pow(1-share, float64(n+1))
			}
		}
		return unseen < Missed
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
			// The last digits of a share are rounded; one more does no harm.
			n = max(n, math.Ceil(sigmas*sigmas*(1-p)/(p*tolerance*tolerance)-1e-9))
		}
	}
	return int(n)
}
