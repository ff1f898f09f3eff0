package state

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Interface is a claim about a network interface, beside lo.
type Interface struct {
	Host
	Link   string         // its name; "": any
	Type   string         // as ip link names it; "": any
	Master string         // the bridge that it is a port of; "": any
	Addrs  []netip.Prefix // those that it has, others aside; of full length: whatever prefix it is written with
	MTU    int            // 0: any
	Up     *bool          // whether it is set up; nil: not claimed
	Absent bool
}

// Subject names the interface.
func (i *Interface) Subject() string {
	if i.Link == "" {
		return "interfaces"
	}
	return "interface " + i.Link
}

// Wanted describes it.
func (i *Interface) Wanted() string {
	words := []string{"there"}
	if i.Absent {
		words[0] = "none"
	}
	if i.Type != "" {
		words = append(words, "type "+i.Type)
	}
	if i.Master != "" {
		words = append(words, "master "+i.Master)
	}
	if i.MTU != 0 {
		words = append(words, fmt.Sprintf("mtu %d", i.MTU))
	}
	if i.Up != nil {
		words = append(words, map[bool]string{true: "up", false: "down"}[*i.Up])
	}
	for _, a := range i.Addrs {
		words = append(words, "address "+a.String())
	}
	return strings.Join(words, ", ")
}

// PerConnection: interfaces do not depend on connections.
func (i *Interface) PerConnection() bool { return false }

// Judge holds the interfaces against the claim.
func (i *Interface) Judge(views []View) Verdict { return each(views, i.judge) }

func (i *Interface) judge(v *View) Verdict {
	var named, fits []string
	for _, l := range v.Links {
		if i.Link != "" && i.Link != l.Name {
			continue
		}
		named = append(named, l.String())
		if i.matches(l) {
			fits = append(fits, l.String())
		}
	}
	what := "such interface"
	if i.Absent {
		what = some(fits)
	}
	return Verdict{Shown: some(named), Wrong: number(len(fits), what, i.Absent, nil)}
}

func (i *Interface) matches(l Link) bool {
	has := func(a netip.Prefix) bool {
		return slices.ContainsFunc(l.Addrs, func(b netip.Prefix) bool { return a == b || a.IsSingleIP() && a.Addr() == b.Addr() })
	}
	return (i.Type == "" || i.Type == l.Type) && (i.Master == "" || i.Master == l.Master) && (i.MTU == 0 || i.MTU == l.MTU) && (i.Up == nil || *i.Up == l.Up) &&
		!slices.ContainsFunc(i.Addrs, func(a netip.Prefix) bool { return !has(a) })
}

func (l Link) String() string {
	text := fmt.Sprintf("%s: %s mtu %d", l.Name, l.Type, l.MTU)
	if l.Master != "" {
		text += " master " + l.Master
	}
	if !l.Up {
		text += " down"
	}
	for _, a := range l.Addrs {
		text += " " + a.String()
	}
	return text
}
