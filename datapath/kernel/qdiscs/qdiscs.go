//go:build linux

package qdiscs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
)

// Handles of the two qdiscs that a link can have, and netem's only class.
const (
	outerQdisc = 1 << 16
	netemClass = 1<<16 | 1
	innerQdisc = 10 << 16
)

// tick is the unit of time of qdiscs (PSCHED_SHIFT in include/net/pkt_sched.h).
const tick = 64 * time.Nanosecond

// Attribute numbers that nl does not name (include/uapi/linux/pkt_sched.h).
const (
	netemLatency64 = 10
	netemJitter64  = 11
)

// Add adds the qdiscs of a link, outermost first.
func Add(q *plan.Qdisc, index int) []socket.Message {
	var msgs []socket.Message
	handle, parent := uint32(outerQdisc), uint32(netlink.HANDLE_ROOT)
	add := func(kind string, options *nl.RtAttr) {
		req := socket.Request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
		req.AddData(header(index, handle, parent))
		req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(kind)))
		req.AddData(options)
		msgs = append(msgs, socket.Written(req))
		handle, parent = innerQdisc, netemClass
	}
	if q.Impairs() {
		add("netem", netemOptions(q))
	}
	if q.Rate > 0 {
		add("tbf", tbfOptions(q))
	}
	return msgs
}

// Delete restores the link's default qdisc, or deletes the one of packets that arrive.
func Delete(index int, arrivals bool) socket.Message {
	parent := uint32(netlink.HANDLE_ROOT)
	if arrivals {
		parent = netlink.HANDLE_CLSACT // the same as that of ingress
	}
	req := socket.Request(unix.RTM_DELQDISC, 0)
	req.AddData(header(index, 0, parent))
	m := socket.Written(req)
	m.Excuse = []unix.Errno{unix.ENOENT, unix.EINVAL, unix.ENODEV}
	return m
}

func header(index int, handle, parent uint32) *nl.TcMsg {
	return &nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(index), Handle: handle, Parent: parent}
}

// netemOptions encodes times in nanoseconds; the ticks in the header are for kernels
// before 4.15.
func netemOptions(q *plan.Qdisc) *nl.RtAttr {
	loss := uint32(min(math.Round(q.Loss*math.MaxUint32), math.MaxUint32))
	opt := nl.TcNetemQopt{Latency: ticks(q.Delay), Limit: plan.InFlight, Loss: loss, Jitter: ticks(q.Jitter)}
	options := nl.NewRtAttr(nl.TCA_OPTIONS, opt.Serialize())
	options.AddRtAttr(netemLatency64, nl.Uint64Attr(uint64(q.Delay)))
	options.AddRtAttr(netemJitter64, nl.Uint64Attr(uint64(q.Jitter)))
	return options
}

func tbfOptions(q *plan.Qdisc) *nl.RtAttr {
	rate := q.Rate / 8
	opt := nl.TcTbfQopt{Limit: q.Limit(), Buffer: ticks(time.Duration(float64(q.Burst()) / float64(rate) * float64(time.Second)))}
	opt.Rate.Rate = uint32(min(rate, math.MaxUint32))
	opt.Rate.Linklayer = nl.LINKLAYER_ETHERNET
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_TBF_PARMS, opt.Serialize())
	options.AddRtAttr(nl.TCA_TBF_BURST, nl.Uint32Attr(q.Burst()))
	if rate > math.MaxUint32 {
		options.AddRtAttr(nl.TCA_TBF_RATE64, nl.Uint64Attr(rate))
	}
	return options
}

func ticks(d time.Duration) uint32 { return uint32(min(d/tick, math.MaxUint32)) }

// Read reads what Add added, and whatever else shapes a link's packets. Those that
// the kernel gives a link by itself have no handle.
func Read(names map[int]string, want, n *plan.Netns) error {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer handle.Close()
	list, err := socket.Whole(func() ([]netlink.Qdisc, error) { return handle.QdiscList(nil) })
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil // a kernel without packet schedulers
	}
	if err != nil {
		return fmt.Errorf("qdiscs: %w", err)
	}
	found := map[string]*plan.Qdisc{}
	for _, q := range list {
		a := q.Attrs()
		if a.Handle == 0 || q.Type() == "noqueue" {
			continue
		}
		link := names[a.LinkIndex]
		if other := (plan.Qdisc{Link: link, Kind: q.Type()}); other.OfArrivals() {
			n.Qdiscs = append(n.Qdiscs, other)
			continue
		}
		if found[link] == nil {
			found[link] = &plan.Qdisc{Link: link}
		}
		readQdisc(q, found[link])
		if sizedOtherwise(q) && slices.ContainsFunc(want.Qdiscs, func(x plan.Qdisc) bool { return x.Link == link }) {
			found[link].Kind = q.Type()
		}
	}
	for _, link := range slices.Sorted(maps.Keys(found)) {
		n.Qdiscs = append(n.Qdiscs, *found[link])
	}
	return nil
}

// readQdisc adds one of the qdiscs of a link, the outermost first.
func readQdisc(q netlink.Qdisc, x *plan.Qdisc) {
	switch q := q.(type) {
	case *netlink.Netem:
		if q.Gap|q.Duplicate|q.ReorderProb|q.CorruptProb|q.DelayCorr|q.LossCorr == 0 && q.Rate64 == 0 && q.Parent == netlink.HANDLE_ROOT {
			x.Delay, x.Jitter = time.Duration(q.Latency)*tick, time.Duration(q.Jitter)*tick
			x.Loss = float64(q.Loss) / math.MaxUint32
			return
		}
	case *netlink.Tbf:
		if q.Parent == netlink.HANDLE_ROOT || q.Parent == netemClass && x.Impairs() {
			x.Rate = q.Rate * 8
			return
		}
	}
	x.Kind = cmp.Or(x.Kind, q.Type())
}

// sizedOtherwise reports whether a qdisc has a queue of another length than those of plans.
func sizedOtherwise(q netlink.Qdisc) bool {
	switch q := q.(type) {
	case *netlink.Netem:
		return q.Limit != plan.InFlight
	case *netlink.Tbf:
		is := plan.Qdisc{Rate: q.Rate * 8}
		return q.Peakrate != 0 || q.Limit != is.Limit()
	}
	return false
}
