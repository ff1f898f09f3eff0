package probe

import (
	"container/heap"
	"math"
	"time"
)

// deadlines knows which attempt is due first: it is a heap. Attempts that end before are
// left in it until they come first.
type deadlines []due

type due struct {
	at   int           // the attempt
	time time.Duration // since the run began
}

// Len, Less, Swap, Push and Pop are for package heap.
func (d deadlines) Len() int           { return len(d) }
func (d deadlines) Less(i, j int) bool { return d[i].time < d[j].time }
func (d deadlines) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *deadlines) Push(x any)        { *d = append(*d, x.(due)) }
func (d *deadlines) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// add records an attempt that has just begun.
func (d *deadlines) add(at int, when time.Duration) { heap.Push(d, due{at, when}) }

// next is the first unfinished attempt, and when it is due.
func (d *deadlines) next(attempts []attempt) due {
	for len(*d) > 0 {
		if first := (*d)[0]; attempts[first.at].state != over {
			return first
		}
		heap.Pop(d)
	}
	return due{time: math.MaxInt64}
}
