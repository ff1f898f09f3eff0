package state

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Endpoint is addresses and a port that one end of a packet may have.
type Endpoint struct {
	Addrs []netip.Prefix // one of these; nil: any
	Port  uint16         // 0: any
}

func (e Endpoint) given() bool { return e.Addrs != nil || e.Port != 0 }

func (e Endpoint) String() string {
	var list []string
	for _, a := range e.Addrs {
		text := a.String()
		if a.IsSingleIP() {
			text = a.Addr().String()
		}
		if e.Port != 0 && a.Addr().Is6() {
			text = "[" + text + "]"
		}
		list = append(list, text)
	}
	text := strings.Join(list, " or ")
	if e.Port != 0 {
		text += ":" + strconv.Itoa(int(e.Port))
	}
	return text
}

// fit is whether something is as claimed.
type fit int

const (
	no    fit = iota
	maybe     // it depends on a port that the kernel chooses, and paper does not know
	yes
)

func (e Endpoint) fits(a netip.AddrPort, paper bool) fit {
	switch addr := a.Addr().Unmap(); {
	case e.Addrs != nil && !slices.ContainsFunc(e.Addrs, func(p netip.Prefix) bool { return p.Contains(addr) }):
		return no
	case e.Port == 0 || e.Port == a.Port():
		return yes
	case a.Port() == 0 && paper:
		return maybe
	}
	return no
}

// matching counts what fits, and what may.
type matching struct{ sure, perhaps int }

func (m *matching) add(all ...fit) {
	switch slices.Min(all) {
	case yes:
		m.sure++
	case maybe:
		m.perhaps++
	}
}

// judge is number for what may fit, too.
func (m matching) judge(shown, what string, absent bool, count *int) Verdict {
	v := Verdict{Shown: shown}
	if m.perhaps > 0 && !(m.sure > 0 && count == nil) {
		v.Unknown = "which port the kernel chooses"
		return v
	}
	v.Wrong = number(m.sure, what, absent, count)
	return v
}
