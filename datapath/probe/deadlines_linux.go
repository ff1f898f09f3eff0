package probe

import (
	"math"
	"time"
)

// deadlines knows which attempt is due first. Flows have few different deadlines and
// begin in order, so one queue per duration is always sorted.
type deadlines struct {
	queues []dueQueue
}

type dueQueue struct {
	within time.Duration
	list   []due
}

type due struct {
	at   int           // the attempt
	time time.Duration // since the run began
}

// add records an attempt that has just begun.
func (d *deadlines) add(at int, when, within time.Duration) {
	for i := range d.queues {
		if q := &d.queues[i]; q.within == within {
			q.list = append(q.list, due{at, when})
			return
		}
	}
	d.queues = append(d.queues, dueQueue{within: within, list: []due{{at, when}}})
}

// passed removes and returns an unfinished attempt whose deadline has passed.
func (d *deadlines) passed(now time.Duration, attempts []attempt) (int, bool) {
	for i := range d.queues {
		if first, ok := d.queues[i].first(attempts); ok && first.time <= now {
			d.queues[i].list = d.queues[i].list[1:]
			return first.at, true
		}
	}
	return 0, false
}

// next is when the next deadline passes.
func (d *deadlines) next(attempts []attempt) time.Duration {
	next := time.Duration(math.MaxInt64)
	for i := range d.queues {
		if first, ok := d.queues[i].first(attempts); ok {
			next = min(next, first.time)
		}
	}
	return next
}

// first is the first unfinished attempt of the queue.
func (q *dueQueue) first(attempts []attempt) (due, bool) {
	for len(q.list) > 0 {
		if attempts[q.list[0].at].state != over {
			return q.list[0], true
		}
		q.list = q.list[1:]
	}
	return due{}, false
}
