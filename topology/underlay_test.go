package topology

import (
	"net/netip"
	"strings"
	"testing"
)

// wan has the subnets a, b, c, d and e, one address each:
//
//	a ──┬─ r1 ─┬── b ── r3 ── c      d ── r4 ── a      e (no router)
//	    └─ r2 ─┘
//
// with a node in a, c and d.
func wan() (lab *Lab, s map[string]*Subnet) {
	s = map[string]*Subnet{}
	lab = &Lab{Network: Network{MTU: 1500}}
	for i, name := range strings.Split("abcde", "") {
		s[name] = &Subnet{Name: name, MTU: 1500, CIDRs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i), 0}), 24)}}
		lab.Subnets = append(lab.Subnets, s[name])
	}
	for i, ends := range []string{"ab", "ab", "bc", "da"} {
		r := &Router{Name: "r" + string(rune('1'+i))}
		for _, name := range strings.Split(ends, "") {
			a := s[name].CIDRs[0].Addr().As4()
			a[3] = byte(i + 1)
			r.Links = append(r.Links, &RouterLink{Name: name, Subnet: s[name], Addrs: []netip.Addr{netip.AddrFrom4(a)}})
		}
		lab.Routers = append(lab.Routers, r)
	}
	for _, name := range []string{"a", "c", "d"} {
		lab.Nodes = append(lab.Nodes, &Node{Name: name, Subnet: s[name], Addrs: []netip.Addr{s[name].CIDRs[0].Addr().Next()}})
	}
	return lab, s
}

func TestNextHopsAreTheNearestRouters(t *testing.T) {
	lab, s := wan()
	for _, row := range []struct{ from, to, want string }{
		{"a", "b", "10.0.0.1 10.0.0.2"}, // two of the same distance
		{"a", "c", "10.0.0.1 10.0.0.2"},
		{"c", "d", "10.0.2.3"},
		{"d", "c", "10.0.3.4"},
		{"ab", "c", "10.0.1.3"}, // a router's own links: the nearer one
		{"ba", "d", "10.0.0.4"},
		{"ab", "a", ""}, // on the link
		{"a", "e", ""},  // no way
	} {
		var own []*Subnet
		for _, name := range strings.Split(row.from, "") {
			own = append(own, s[name])
		}
		var got []string
		for _, l := range lab.Next(own, s[row.to]) {
			got = append(got, l.Addrs[0].String())
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s to %s: got %q, want %q", row.from, row.to, got, row.want)
		}
	}
	if lab.Joined(s["a"], s["e"]) || !lab.Joined(s["d"], s["c"]) {
		t.Error("joined: d and c, but nothing with e")
	}
}

func TestTheNearestNodesShareConnections(t *testing.T) {
	lab, s := wan()
	for _, row := range []struct{ from, want string }{
		{"a", "10.0.0.1"}, // the node in a itself
		{"b", "10.0.1.1 10.0.1.2 10.0.1.3"},
		{"e", ""},
	} {
		var got []string
		for _, a := range lab.Via([]*Subnet{s[row.from]}, lab.Nodes[:2], false) {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("from %s: got %q, want %q", row.from, got, row.want)
		}
	}
}

func TestTheNarrowestLinkIsOneBetweenNodes(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(lab *Lab, s map[string]*Subnet)
		want int
	}{
		{"all alike", func(*Lab, map[string]*Subnet) {}, 1500},
		{"a subnet on the way", func(_ *Lab, s map[string]*Subnet) { s["b"].MTU = 1400 }, 1400},
		{"one of two routers", func(lab *Lab, _ map[string]*Subnet) {
			lab.Routers[1].Links[1].Link = Link{MTU: 1300}
		}, 1300},
		{"a subnet that is not on the way", func(_ *Lab, s map[string]*Subnet) { s["e"].MTU = 1000 }, 1500},
	} {
		lab, s := wan()
		row.edit(lab, s)
		if mtu, of := lab.Narrowest(); mtu != row.want || of == nil {
			t.Errorf("%s: got %d, of %v", row.name, mtu, of)
		}
	}
}
