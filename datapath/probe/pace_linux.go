package probe

import (
	"time"

	"github.com/netlab/netlab/datapath/flow"
)

const (
	// inFlight is how many young connections there may be at once: more gain nothing on
	// one thread.
	inFlight = 64
	// maxAge is how long a connection counts as young where nothing queues. Beyond that it
	// most likely waits for its deadline, and others start: a thousand dropped connections cost
	// about one deadline, not sixteen.
	maxAge = 20 * time.Millisecond
	// maxQueued is how long connections may queue before fewer of them are made at a time.
	maxQueued = 100 * time.Millisecond
)

// pace is how fast connections of a run follow each other: the more slowly, the longer those that
// succeed have queued on their way. Programs between the ends, as a load balancer, take connections
// one by one, and on a busy machine a flood of them would all be late. What each of them takes
// anyway, as over a slow link, does not count: that is the shortest time seen, and the rest is taken
// for queues, as in TCP Vegas (Brakmo and Peterson, 1995).
type pace struct {
	slow     float64       // the machine, by this factor
	young    float64       // how many there may be at once
	shortest time.Duration // 0: none has succeeded
	queued   time.Duration // smoothed
}

func newPace() pace {
	slow := flow.TimeScale()
	return pace{slow: slow, young: inFlight / (slow * slow)}
}

// took is how long a connection took that succeeded.
func (p *pace) took(d time.Duration) {
	if p.shortest == 0 || d < p.shortest {
		p.shortest = d
	}
	queued := d - p.shortest
	p.queued += (queued - p.queued) / 8
	if queued > maxQueued {
		p.young = max(1, p.young*0.9)
	} else {
		p.young = min(inFlight, p.young+1)
	}
}

// window is how many connections may be young at once.
func (p *pace) window() int { return int(p.young) }

// age is how long a connection that has not ended is young.
func (p *pace) age() time.Duration {
	return max(time.Duration(float64(maxAge)*p.slow*p.slow), 4*p.queued)
}
