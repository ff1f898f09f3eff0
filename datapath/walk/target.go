package walk

import (
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// verdict is the result of a rule or of a table.
type verdict struct {
	action  action
	word    string         // for the target or what was done, in a trace
	chain   string         // of jump and jumpAway
	with    Code           // of reject
	rewrite *trace.Rewrite // requested by a NAT target
	why     string         // of drop and fail
}

func (v verdict) as(word string) verdict {
	v.word = word
	return v
}

type action uint8

const (
	next action = iota // continue with the next rule
	jump
	jumpAway // goto: does not return
	back
	accept
	drop
	reject
	fail // the walker cannot tell
)

// hit is what a target does to a packet. To add a target: a case here, and a
// function below.
func (v *visit) hit(t iptables.Target) verdict {
	switch t := t.(type) {
	case nil:
	case iptables.NFLog:
		return verdict{word: "NFLOG"}
	case iptables.Jump:
		return verdict{action: jump, word: t.Chain, chain: t.Chain}
	case iptables.Goto:
		return verdict{action: jumpAway, word: t.Chain, chain: t.Chain}
	case iptables.Return:
		return verdict{action: back, word: "RETURN"}
	case iptables.Accept:
		return verdict{action: accept, word: "ACCEPT"}
	case iptables.Drop:
		return verdict{action: drop, word: "DROP"}
	case iptables.Reject:
		return v.reject(t).as("REJECT")
	case iptables.DNAT:
		return v.dnat(t).as("DNAT")
	case iptables.Redirect:
		return v.redirect(t).as("REDIRECT")
	case iptables.Masquerade:
		return v.masquerade().as("MASQUERADE")
	case iptables.NoTrack:
		if v.table != "raw" {
			return verdict{action: fail, word: "CT", why: "CT outside the raw table"}
		}
		if v.p.state == "" { // a packet that came over lo knows what it is
			v.p.untrack()
		}
		return verdict{word: "CT"}
	case iptables.OrMark:
		v.p.mark |= t.Bits
		return verdict{word: "MARK"}
	case iptables.XorMark:
		v.p.mark ^= t.Bits
		return verdict{word: "MARK"}
	case iptables.SetMark:
		v.p.mark = v.p.mark&^t.Mask | t.Value
		return verdict{word: "MARK"}
	default:
		return verdict{action: fail, word: fmt.Sprintf("%T", t), why: fmt.Sprintf("unknown target %T", t)}
	}
	return verdict{}
}

func (v *visit) reject(t iptables.Reject) verdict {
	with := Code(t.With)
	if with == "" {
		with = PortUnreachable.family(v.p.ipv6())
	}
	if v.p.kind == failure {
		return verdict{action: drop, why: "an ICMP error is not answered with another"}
	}
	return verdict{action: reject, with: with}
}

func (v *visit) dnat(t iptables.DNAT) verdict {
	if v.p.conn == nil || v.table != "nat" {
		return verdict{action: fail, why: "DNAT outside the nat table"}
	}
	to := t.To
	if to.Port() == 0 {
		to = netip.AddrPortFrom(to.Addr(), v.p.dst.Port())
	}
	v.p.conn.setDst(to)
	return verdict{action: accept, rewrite: &trace.Rewrite{Field: "dst", From: v.p.dst, To: to}}
}

// redirect sends a packet to a port of this host: at 127.0.0.1 or ::1 if it was sent here,
// else at the address of the link that it came in by (net/netfilter/nf_nat_redirect.c).
func (v *visit) redirect(t iptables.Redirect) verdict {
	if v.p.conn == nil || v.table != "nat" {
		return verdict{action: fail, why: "REDIRECT outside the nat table"}
	}
	addr := netip.IPv6Loopback()
	switch {
	case v.hook == "PREROUTING":
		addr = v.h.First(v.in, v.p.ipv6())
	case !v.p.ipv6():
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if !addr.IsValid() {
		return verdict{action: drop, why: fmt.Sprintf("%s of %s has no address to redirect to", name(v.in), v.h.Name)}
	}
	to := netip.AddrPortFrom(addr, t.Port)
	v.p.conn.setDst(to)
	return verdict{action: accept, rewrite: &trace.Rewrite{Field: "dst", From: v.p.dst, To: to}}
}

func (v *visit) masquerade() verdict {
	if v.p.conn == nil || v.table != "nat" || v.hook != "POSTROUTING" {
		return verdict{action: fail, why: "MASQUERADE outside POSTROUTING of the nat table"}
	}
	from := v.h.Egress(v.out, v.p.dst.Addr(), v.to.Next)
	if !from.IsValid() {
		return verdict{action: drop, why: "no address to masquerade with"}
	}
	to := netip.AddrPortFrom(from, v.p.src.Port())
	v.p.conn.setSrc(to)
	return verdict{action: accept, rewrite: &trace.Rewrite{Field: "src", From: v.p.src, To: to}}
}
