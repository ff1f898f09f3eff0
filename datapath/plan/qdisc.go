package plan

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Latency is how long a packet may wait in a tbf before it is dropped.
const Latency = 50 * time.Millisecond

// InFlight is the number of packets that a netem may hold: its default of 1000 allows
// 10 Mbit/s at a delay of one second.
const InFlight = 10_000

// Impairs reports whether it delays or loses packets, which needs netem.
func (q *Qdisc) Impairs() bool { return q.Delay > 0 || q.Jitter > 0 || q.Loss > 0 }

// Burst is the size of tbf's bucket in bytes: what arrives in 10 ms, which covers the
// tick of every kernel, and at least two full-sized packets.
func (q *Qdisc) Burst() uint32 {
	return uint32(min(max(q.Rate/8/100, 3200), math.MaxInt32))
}

// Limit is the length of tbf's queue in bytes: what waits no longer than Latency, plus
// the burst.
func (q *Qdisc) Limit() uint32 {
	wait := q.Rate / 8 / uint64(time.Second/Latency)
	return uint32(min(wait+uint64(q.Burst()), math.MaxInt32))
}

// place is where the qdisc is on its link: a link has one for each direction.
func (q *Qdisc) place() string {
	if q.OfArrivals() {
		return q.Kind
	}
	return "root"
}

// OfArrivals reports whether it acts on packets that arrive.
func (q *Qdisc) OfArrivals() bool { return q.Kind == "clsact" || q.Kind == "ingress" }

// qdiscID identifies a qdisc in its namespace.
type qdiscID struct {
	link     string
	arrivals bool
}

func qdiscKey(q Qdisc) qdiscID { return qdiscID{q.Link, q.OfArrivals()} }

// commands are the qdiscs as tc qdisc add takes them, after dev LINK: outermost first.
func (q *Qdisc) commands() []string {
	var list []string
	place := "root handle 1:"
	if q.Impairs() {
		s := fmt.Sprintf("%s netem limit %d", place, InFlight)
		if q.Delay > 0 || q.Jitter > 0 {
			s += " delay " + tcTime(q.Delay)
			if q.Jitter > 0 {
				s += " " + tcTime(q.Jitter)
			}
		}
		if q.Loss > 0 {
			s += " loss " + strconv.FormatFloat(q.Loss*100, 'g', -1, 64) + "%"
		}
		list = append(list, s)
		place = "parent 1:1 handle 10:"
	}
	if q.Rate > 0 {
		list = append(list, fmt.Sprintf("%s tbf rate %dbit burst %db limit %db", place, q.Rate, q.Burst(), q.Limit()))
	}
	return list
}

// tcTime is a duration in the unit that tc prints: 50ms, 1500us.
func tcTime(d time.Duration) string {
	if d%time.Millisecond == 0 {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%dus", d.Microseconds())
}

// words describes the qdisc, for findings.
func (q *Qdisc) words() string {
	s := "dev " + q.Link
	switch {
	case q.OfArrivals():
		return s + " " + q.Kind
	case q.Kind != "":
		return s + " root " + q.Kind
	}
	for _, c := range q.commands() {
		s += " " + c
	}
	return s
}

// sameQdisc compares with the precision that the kernel keeps: time in ticks of 64 ns,
// loss in 32 bits, the rate in bytes.
func sameQdisc(a, b Qdisc) bool {
	near := func(x, y time.Duration) bool { return (x - y).Abs() < time.Microsecond }
	return a.Kind == b.Kind && near(a.Delay, b.Delay) && near(a.Jitter, b.Jitter) && math.Abs(a.Loss-b.Loss) < 1e-6 && a.Rate/8 == b.Rate/8
}
