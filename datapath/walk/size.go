package walk

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/network"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// tooBig stops a packet that is longer than the MTU of the device that it leaves by. TCP
// forbids fragments (DF), so that its sender is told the MTU instead (ip_exceeds_mtu in
// net/ipv4/ip_forward.c, ip6_pkt_too_big in net/ipv6/ip6_output.c).
func (r *run) tooBig(h *network.Host, to network.Hop, p *packet) *fate {
	mtu := to.Dev.MTU
	if p.size == 0 || to.Local || mtu == 0 {
		return nil
	}
	esp := ""
	if policy := h.XfrmPolicy(plan.XfrmOut, p.src.Addr(), p.dst.Addr()); policy != nil {
		mtu = espRoom(mtu, policy.Src.Is6())
		esp = fmt.Sprintf(", of which ESP leaves %d", mtu)
	}
	if p.size <= mtu {
		return nil
	}
	f := r.refuse(h, p, TooBig, "a packet of %d bytes does not fit %s of %s, whose MTU is %d%s", p.size, to.Dev.Name, h.Name, to.Dev.MTU, esp)
	f.mtu = mtu
	return f
}

// longest is the size of the largest packets of an upload: the segment size is what fits the
// links of both ends, since each announces its own (RFC 9293, 3.7.1).
func (r *run) longest(t *talk, server *network.Host, client netip.AddrPort) int {
	size := flow.Headers(t.remote.Addr()) + t.flow.Upload
	for _, end := range []struct {
		h    *network.Host
		peer netip.AddrPort
	}{{t.dialer, t.remote}, {server, client}} {
		if hop, ok := end.h.Lookup(end.peer.Addr()); ok && hop.Dev.MTU > 0 {
			size = min(size, hop.Dev.MTU)
		}
	}
	return size
}

// fit sends a packet, and that of an upload again as small as its dialer is told to (path MTU
// discovery, RFC 1191 and RFC 8201). lost says why it was not told, and the upload stalls.
func (r *run) fit(from *network.Host, t *talk, p packet) (got *fate, lost string) {
	for {
		sent := p
		got = r.originate(from, &sent)
		if got.kind != refused || got.code != TooBig.family(p.ipv6()) {
			return got, ""
		}
		told := r.tell(got, got.code)
		if told.kind != delivered {
			return got, told.why
		}
		if told.h != t.dialer || !t.hears(told.p) {
			return got, astray(told)
		}
		p.size = got.mtu
	}
}

// stalls is how an upload ends whose packets are too big, and whose sender does not learn it.
func stalls(got *fate, lost string) trace.Branch {
	return ended(flow.Timeout, fmt.Sprintf("the upload stalls: %s; the error for that is lost: %s", got.why, lost))
}
