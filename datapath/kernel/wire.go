//go:build linux

package kernel

import (
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/netlab/netlab/datapath/plan"
)

// wholeSegments is the number of segments of a TSO packet by default (GSO_MAX_SEGS).
const wholeSegments = 65535

// Sent is the number of bytes that a link of a namespace has sent, headers from Ethernet on
// included.
func (k *Kernel) Sent(at plan.Peer) (bytes uint64, err error) {
	err = k.link(at, func(l netlink.Link) error {
		bytes = l.Attrs().Statistics.TxBytes
		return nil
	})
	return bytes, err
}

// Bundle says whether a link may be given several TCP segments as one packet, as links are
// by default. Without, its counters count what a wire would carry.
func (k *Kernel) Bundle(at plan.Peer, yes bool) error {
	segments := 1
	if yes {
		segments = wholeSegments
	}
	return k.link(at, func(l netlink.Link) error { return netlink.LinkSetGSOMaxSegs(l, segments) })
}

// link calls a function with a link, in its namespace.
func (k *Kernel) link(at plan.Peer, do func(netlink.Link) error) error {
	ns, err := k.Namespace(at.Netns)
	if err != nil {
		return err
	}
	return ns.Do(func() error {
		l, err := netlink.LinkByName(at.Link)
		if err == nil {
			err = do(l)
		}
		if err != nil {
			return fmt.Errorf("%s of %s: %w", at.Link, at.Netns, err)
		}
		return nil
	})
}
