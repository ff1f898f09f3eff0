package plan

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/shell"
)

// The commands for each kind of step, in the syntax of ip, bridge, tc and sysctl.

func (n *Netns) write(w *textWriter, _ *Step) {
	w.from(n.Origin)
	w.linef("ip netns add %s", n.Name)
	if !n.IPv6 {
		// Before the first link: otherwise the kernel gives it a link-local address.
		w.linef("ip netns exec %s sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1", n.Name)
	}
	w.linef("ip -n %s link set dev lo up", n.Name)
}

func (r *Removal) write(w *textWriter, s *Step) {
	w.linef("ip netns delete %s", s.Netns)
	for _, end := range r.Ends {
		w.linef("# also removed: %s in %s", end.Link, end.Netns)
	}
}

func (RulesInForce) write(*textWriter, *Step) {}

func (p *Pair) write(w *textWriter, s *Step) {
	l := p.Link
	w.from(l.Origin)
	far := ""
	if p.Peer != nil {
		far = p.Peer.attrs()
	}
	w.linef("ip -n %s link add dev %s%s type veth peer name %s%s netns %s",
		s.Netns, l.Name, l.attrs(), l.Peer.Link, far, l.Peer.Netns)
	if p.Peer != nil {
		w.settle(l.Peer.Netns, p.Peer)
	}
	w.settle(s.Netns, l)
}

func (l *Link) write(w *textWriter, s *Step) {
	if s.Verb == Delete {
		if l.Type == IPIP {
			w.linef("ip -n %s link set dev %s down", s.Netns, l.Name) // the kernel may keep it
		}
		w.linef("ip -n %s link delete dev %s", s.Netns, l.Name)
		return
	}
	w.from(l.Origin)
	switch l.Type {
	case Bridge:
		w.addBridge(l)
	case IPIP:
		w.linef("ip -n %s link show dev %s >/dev/null 2>&1 || ip -n %s link add dev %s type ipip", s.Netns, l.Name, s.Netns, l.Name)
		w.linef("ip -n %s link set dev %s%s", s.Netns, l.Name, l.attrs())
	case TUN:
		w.linef("ip -n %s tuntap add dev %s mode tun", w.netns, l.Name)
		w.linef("ip -n %s link set dev %s%s", w.netns, l.Name, l.attrs())
	default:
		w.linef("ip -n %s link add dev %s%s type %s%s", w.netns, l.Name, l.attrs(), l.Type, l.typeAttrs())
	}
	w.settle(s.Netns, l)
}

// addBridge sets the MTU with a command of its own: the kernel forgets one set at
// creation as soon as the last port leaves the bridge, and falls back to 1500.
func (w *textWriter) addBridge(l *Link) {
	bare := *l
	bare.MTU = 0
	w.linef("ip -n %s link add dev %s%s type bridge", w.netns, l.Name, bare.attrs())
	if l.MTU != 0 {
		w.linef("ip -n %s link set dev %s mtu %d", w.netns, l.Name, l.MTU)
	}
}

// attrs are the attributes that every type of link has.
func (l *Link) attrs() string {
	var s string
	if l.MTU != 0 {
		s += fmt.Sprintf(" mtu %d", l.MTU)
	}
	if l.MAC != ([6]byte{}) {
		s += " address " + l.MAC.String()
	}
	return s
}

func (l *Link) typeAttrs() string {
	if l.Type != VXLAN {
		return ""
	}
	v := l.VXLAN
	learning := "nolearning"
	if v.Learning {
		learning = "learning"
	}
	return fmt.Sprintf(" id %d local %s dev %s dstport %d %s", v.ID, v.Local, v.Dev, v.Port, learning)
}

// settle attaches a new link to its bridge and sets it up.
func (w *textWriter) settle(netns string, l *Link) {
	if l.Master != "" {
		w.linef("ip -n %s link set dev %s master %s", netns, l.Name, l.Master)
	}
	if l.Hairpin {
		w.linef("bridge -n %s link set dev %s hairpin on", netns, l.Name)
	}
	w.linef("ip -n %s link set dev %s up", netns, l.Name)
}

func (c *LinkChange) write(w *textWriter, s *Step) {
	l := c.Link
	w.from(l.Origin)
	if a := l.attrs(); a != "" {
		w.linef("ip -n %s link set dev %s%s", s.Netns, l.Name, a)
	}
	switch {
	case l.Master != "":
		w.linef("ip -n %s link set dev %s master %s", s.Netns, l.Name, l.Master)
		w.linef("bridge -n %s link set dev %s hairpin %s", s.Netns, l.Name, map[bool]string{true: "on", false: "off"}[l.Hairpin])
	case c.Release:
		w.linef("ip -n %s link set dev %s nomaster", s.Netns, l.Name)
	}
	w.linef("ip -n %s link set dev %s up", s.Netns, l.Name)
}

func (a *Addr) write(w *textWriter, s *Step) {
	if s.Verb == Delete {
		w.linef("ip -n %s address delete %s dev %s", s.Netns, a.Prefix, a.Link)
		return
	}
	w.from(a.Origin)
	nodad := ""
	if a.Prefix.Addr().Is6() {
		nodad = " nodad"
	}
	w.linef("ip -n %s address add %s dev %s%s", s.Netns, a.Prefix, a.Link, nodad)
}

func (x *Neigh) write(w *textWriter, s *Step) {
	if s.Verb == Delete {
		w.linef("ip -n %s neigh delete %s dev %s", s.Netns, x.Addr, x.Link)
		return
	}
	w.from(x.Origin)
	w.linef("ip -n %s neigh %s %s lladdr %s dev %s nud permanent", s.Netns, s.Verb.ip(), x.Addr, x.MAC, x.Link)
}

func (f *FDB) write(w *textWriter, s *Step) {
	if s.Verb == Delete {
		w.linef("bridge -n %s fdb delete %s dev %s dst %s self permanent", s.Netns, f.MAC, f.Link, f.Dst)
		return
	}
	w.from(f.Origin)
	w.linef("bridge -n %s fdb append %s dev %s dst %s self permanent", s.Netns, f.MAC, f.Link, f.Dst)
}

func (r *Route) write(w *textWriter, s *Step) {
	verb := s.Verb.ip()
	if s.Verb != Delete {
		w.from(r.Origin)
		if r.Type != Unicast {
			verb = Change.ip() // it may take the place of the route that came with a bridge's address
		}
	}
	learned := ""
	if r.Protocol == BGP && s.Verb != Delete && !w.bare {
		learned = " # learned, not written"
	}
	w.linef("ip -n %s route %s %s%s", s.Netns, verb, r.words(), learned)
}

// ip is the verb as ip neigh and ip route name it.
func (v Verb) ip() string {
	return [...]string{Add: "add", Change: "replace", Delete: "delete"}[v]
}

// A qdisc takes one tc command per part, outermost first.
func (q *Qdisc) write(w *textWriter, s *Step) {
	if s.Verb != Add {
		w.linef("tc -n %s qdisc delete dev %s %s", s.Netns, q.Link, q.place())
	}
	if s.Verb == Delete {
		return
	}
	w.from(q.Origin)
	for _, c := range q.commands() {
		w.linef("tc -n %s qdisc add dev %s %s", s.Netns, q.Link, c)
	}
}

func (list Sysctls) write(w *textWriter, s *Step) {
	var words strings.Builder
	for _, x := range list {
		fmt.Fprintf(&words, " %s=%s", x.Key, shell.Quote(x.Value))
	}
	w.linef("ip netns exec %s sysctl -qw%s", s.Netns, words.String())
}

// Conntrack clean-up is not a shell command, so it is written as comments.
func (c *Conntrack) write(w *textWriter, _ *Step) {
	for i := range c.UDP {
		w.from(c.UDP[i].Origin)
		w.linef("# udp %s", c.UDP[i].Words())
	}
	for i := range c.Cut {
		w.from(c.Cut[i].Origin)
		w.linef("# cut %s", c.Cut[i].Words())
	}
}

// Rules take one restore per family.
func (edits TableEdits) write(w *textWriter, s *Step) {
	for _, name := range iptables.Accounts(edits) {
		w.linef("ip netns exec %s nfacct add %s", s.Netns, name)
	}
	for _, family := range []struct {
		ipv6 bool
		tool string
	}{{false, "iptables-restore"}, {true, "ip6tables-restore"}} {
		body := iptables.AppendEdits(nil, edits, family.ipv6, !w.bare)
		if len(body) == 0 {
			continue
		}
		w.linef("ip netns exec %s %s --noflush <<'EOF'", s.Netns, family.tool)
		w.b = append(append(w.b, body...), "EOF\n"...)
	}
}

func (list SetCommands) write(w *textWriter, _ *Step) {
	w.feed("ip netns exec %s ipset restore <<'EOF'", func() {
		for i := range list {
			if c := &list[i]; c.Verb == "create" || c.Verb == "add" {
				w.from(c.Set.Origin)
			}
			w.b = list[i].Append(w.b)
		}
	})
}

func (list VirtualCommands) write(w *textWriter, _ *Step) {
	// ipvsadm takes no comments.
	w.feed("sed '/^#/d' <<'EOF' | ip netns exec %s ipvsadm -R", func() {
		for i := range list {
			if list[i].Verb != "-D" {
				w.from(list[i].Server.Origin)
			}
			w.b = append(list[i].Append(w.b), '\n')
		}
	})
}

func (edits NFTEdits) write(w *textWriter, _ *Step) {
	w.feed("ip netns exec %s nft -f - <<'EOF'", func() {
		for i := range edits {
			w.b = edits[i].AppendText(w.b, !w.bare)
		}
	})
}

// words returns the route as ip route writes it.
func (r Route) words() string {
	to := r.To.String()
	if r.To.Bits() == 0 {
		to = "default"
	}
	if r.Local {
		return "local " + to + " dev " + r.Dev
	}
	proto := ""
	if r.Protocol != ByHand {
		proto = " proto " + string(r.Protocol)
	}
	if r.Type != Unicast {
		return string(r.Type) + " " + to + proto
	}
	if len(r.More) > 0 {
		to += proto
		for _, via := range append([]netip.Addr{r.Via}, r.More...) {
			to += " nexthop via " + via.String() + " dev " + r.Dev
			if r.OnLink {
				to += " onlink"
			}
		}
		return to
	}
	if r.Via.IsValid() {
		to += " via " + r.Via.String()
	}
	if r.Dev != "" {
		to += " dev " + r.Dev
	}
	to += proto
	if !r.Via.IsValid() && r.To.Addr().Is4() {
		to += " scope link"
	}
	if r.OnLink {
		to += " onlink"
	}
	return to
}
