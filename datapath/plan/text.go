package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Text is the plan in the words of ip, bridge, sysctl and iptables-restore, in
// canonical order: pasted into a root shell it builds the lab, agents aside. Equal
// plans have equal texts, on every machine.
func (p *Plan) Text() []byte {
	w := newTextWriter(p)
	for i := range p.Netns {
		w.create(&p.Netns[i])
	}
	return w.b
}

// Digest is the SHA-256 of the plan's text in hexadecimal.
func (p *Plan) Digest() string {
	sum := sha256.Sum256(p.Text())
	return hex.EncodeToString(sum[:])
}

// textWriter writes commands. A veth pair is made by one command, from the
// namespace that is written later: by then both exist.
type textWriter struct {
	b      []byte
	netns  string
	origin Origin
	ends   map[Peer]*Link // of all namespaces that are written, for peers
	seen   map[Peer]bool  // ends whose namespace was reached
	gone   map[Peer]bool  // ends that went with their peer
}

func newTextWriter(p *Plan) *textWriter {
	w := &textWriter{ends: map[Peer]*Link{}, seen: map[Peer]bool{}, gone: map[Peer]bool{}}
	w.register(p.Netns)
	return w
}

func (w *textWriter) register(list []Netns) {
	for i := range list {
		for j := range list[i].Links {
			if l := &list[i].Links[j]; l.Type == Veth {
				w.ends[Peer{list[i].Name, l.Name}] = l
			}
		}
	}
}

// linef writes one line.
func (w *textWriter) linef(format string, args ...any) {
	w.b = append(fmt.Appendf(w.b, format, args...), '\n')
}

// from writes what the following lines serve, once for many lines in a row.
func (w *textWriter) from(o Origin) {
	if o != w.origin {
		w.origin = o
		w.b = o.appendComment(w.b)
	}
}

// create writes all that makes one namespace.
func (w *textWriter) create(n *Netns) {
	w.enter(n.Name)
	w.from(n.Origin)
	w.linef("ip netns add %s", n.Name)
	if !n.IPv6 {
		// Before the first link: else the kernel gives it a link-local address.
		w.linef("ip netns exec %s sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1", n.Name)
	}
	w.linef("ip -n %s link set dev lo up", n.Name)
	w.add(n)
	w.sets(n.Sets)
	w.tables(Edits(n.Tables))
	w.nft(n.NFT)
	w.virtual(n.Virtual)
	w.ipvsSysctls(n.Sysctls)
	w.udp(n.UDP)
	w.cuts(n.Cut)
}

// enter begins a namespace.
func (w *textWriter) enter(name string) {
	if len(w.b) > 0 {
		w.b = append(w.b, '\n')
	}
	w.netns, w.origin = name, Origin{}
}

// add writes the items of n, tables aside, in the order in which the kernel
// accepts them.
func (w *textWriter) add(n *Netns) {
	for i := range n.Links {
		w.addLink(&n.Links[i])
	}
	for _, a := range n.Addrs {
		w.from(a.Origin)
		nodad := ""
		if a.Prefix.Addr().Is6() {
			nodad = " nodad"
		}
		w.linef("ip -n %s address add %s dev %s%s", w.netns, a.Prefix, a.Link, nodad)
	}
	w.sysctls(n.Sysctls)
	for _, x := range n.Neighs {
		w.from(x.Origin)
		w.linef("ip -n %s neigh add %s lladdr %s dev %s nud permanent", w.netns, x.Addr, mac(x.MAC), x.Link)
	}
	for _, f := range n.FDB {
		w.from(f.Origin)
		w.linef("bridge -n %s fdb append %s dev %s dst %s self permanent", w.netns, mac(f.MAC), f.Link, f.Dst)
	}
	for _, r := range n.Routes {
		w.from(r.Origin)
		w.linef("ip -n %s route add %s", w.netns, r.words())
	}
	for i := range n.Qdiscs {
		w.qdisc("add", &n.Qdiscs[i])
	}
	w.agents("#", n)
}

// qdisc writes one tc command for each part, the outer one first.
func (w *textWriter) qdisc(verb string, q *Qdisc) {
	w.from(q.Origin)
	for _, c := range q.commands() {
		w.linef("tc -n %s qdisc %s dev %s %s", w.netns, verb, q.Link, c)
	}
}

// sets writes the input of one ipset restore.
func (w *textWriter) sets(list []Set) {
	w.input("ipset restore", func() {
		for i := range list {
			s := &list[i]
			w.from(s.Origin)
			w.b = s.appendCreate(w.b)
			w.b = s.Type.appendEntries(w.b, "add", s.Name, s.Entries)
		}
	})
}

// virtual writes the input of one ipvsadm -R.
func (w *textWriter) virtual(list []VirtualServer) {
	w.inputUncommented("ipvsadm -R", func() {
		for i := range list {
			w.from(list[i].Origin)
			w.b = list[i].appendAll(w.b)
		}
	})
}

// input writes a program's run in the namespace and, as a here-document, what body
// writes. Where that is nothing, so is the whole.
func (w *textWriter) input(program string, body func()) {
	w.feed("ip netns exec "+w.netns+" "+program+" <<'EOF'", body)
}

// inputUncommented is for programs that take no comments.
func (w *textWriter) inputUncommented(program string, body func()) {
	w.feed("sed '/^#/d' <<'EOF' | ip netns exec "+w.netns+" "+program, body)
}

func (w *textWriter) feed(command string, body func()) {
	before, origin := len(w.b), w.origin
	w.origin = Origin{}
	w.linef("%s", command)
	start := len(w.b)
	if body(); len(w.b) == start {
		w.b, w.origin = w.b[:before], origin
		return
	}
	w.b, w.origin = append(w.b, "EOF\n"...), Origin{}
}

// sysctls leaves out those of IPVS, see ipvsSysctls.
func (w *textWriter) sysctls(list []Sysctl) {
	w.settings(reject(list, Sysctl.OfIPVS))
}

// ipvsSysctls writes those settings that appear when ipvsadm has loaded IPVS.
func (w *textWriter) ipvsSysctls(list []Sysctl) {
	w.settings(reject(list, func(s Sysctl) bool { return !s.OfIPVS() }))
}

func (w *textWriter) settings(list []Sysctl) {
	if len(list) == 0 {
		return
	}
	var words strings.Builder
	for _, s := range list {
		fmt.Fprintf(&words, " %s=%s", s.Key, quoteShell(s.Value))
	}
	w.linef("ip netns exec %s sysctl -qw%s", w.netns, words.String())
}

// agents writes what listens and runs in the namespace: not shell commands, so
// behind the mark of a comment.
func (w *textWriter) agents(mark string, n *Netns) {
	for _, a := range n.Agents {
		w.from(a.Origin)
		w.linef("%s agent %s", mark, a.words())
	}
	for _, x := range n.Execs {
		w.from(x.Origin)
		w.linef("%s exec %s", mark, x.words())
	}
}

func (a Agent) words() string {
	ports := make([]string, 0, len(a.Listen))
	for _, l := range a.Listen {
		ports = append(ports, fmt.Sprintf("%s/%d", l.Protocol, l.Port))
	}
	s := a.Name + " (" + strings.Join(ports, ", ") + ")"
	if a.Node != "" {
		s += " on " + a.Node
	}
	if a.Health != (Health{}) {
		s += fmt.Sprintf(" answers health checks of %s/%s: local endpoints %d", a.Health.Namespace, a.Health.Service, a.Health.LocalEndpoints)
	}
	return s
}

func (x Exec) words() string {
	var words []string
	for _, s := range append(append([]string{}, x.Env...), x.Argv...) {
		words = append(words, quoteShell(s))
	}
	return x.Name + ": " + strings.Join(words, " ")
}

func (w *textWriter) addLink(l *Link) {
	here := Peer{w.netns, l.Name}
	if l.Type != Veth {
		w.from(l.Origin)
		if l.Type == Bridge {
			w.addBridge(l)
		} else {
			w.linef("ip -n %s link add dev %s%s type %s%s", w.netns, l.Name, l.attrs(), l.Type, l.typeAttrs())
		}
		w.settle(w.netns, l)
		return
	}
	w.seen[here] = true
	peer, known := w.ends[l.Peer]
	if known && !w.seen[l.Peer] {
		return // made from the other end
	}
	w.from(l.Origin)
	far := ""
	if known {
		far = peer.attrs()
	}
	w.linef("ip -n %s link add dev %s%s type veth peer name %s%s netns %s",
		w.netns, l.Name, l.attrs(), l.Peer.Link, far, l.Peer.Netns)
	if known {
		w.settle(l.Peer.Netns, peer)
	}
	w.settle(w.netns, l)
}

// addBridge sets the size by a line of its own: the kernel forgets one that the
// bridge was created with as soon as the last port leaves, and falls back to 1500.
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
		s += " address " + mac(l.MAC)
	}
	return s
}

// typeAttrs are the attributes of the link's type.
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

// settle puts a new link into its bridge and raises it.
func (w *textWriter) settle(netns string, l *Link) {
	if l.Master != "" {
		w.linef("ip -n %s link set dev %s master %s", netns, l.Name, l.Master)
	}
	if l.Hairpin {
		w.linef("bridge -n %s link set dev %s hairpin on", netns, l.Name)
	}
	w.linef("ip -n %s link set dev %s up", netns, l.Name)
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
	if len(r.More) > 0 {
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
	if !r.Via.IsValid() && r.To.Addr().Is4() {
		to += " scope link"
	}
	if r.OnLink {
		to += " onlink"
	}
	return to
}

// tables writes one restore per family.
func (w *textWriter) tables(edits []TableEdit) {
	for _, family := range []struct {
		ipv6 bool
		tool string
	}{{false, "iptables-restore"}, {true, "ip6tables-restore"}} {
		body := appendEdits(nil, edits, family.ipv6, true)
		if len(body) == 0 {
			continue
		}
		w.linef("ip netns exec %s %s --noflush <<'EOF'", w.netns, family.tool)
		w.b = append(append(w.b, body...), "EOF\n"...)
	}
}

// udp writes whose connection tracking entries are looked after: no shell command,
// so as comments.
func (w *textWriter) udp(list []UDPService) {
	for i := range list {
		s := &list[i]
		w.from(s.Origin)
		w.linef("# udp %s", s.words())
	}
}

// cuts writes which established connections are left alone: no shell command, so as
// comments.
func (w *textWriter) cuts(list []Cut) {
	for i := range list {
		w.from(list[i].Origin)
		w.linef("# cut %s", list[i].words())
	}
}

func (s *UDPService) words() string {
	var to, from []string
	for _, a := range s.To {
		to = append(to, a.String())
	}
	if s.NodePort != 0 {
		to = append(to, fmt.Sprintf("node port %d", s.NodePort))
	}
	for _, a := range s.Endpoints {
		from = append(from, a.String())
	}
	return strings.Join(to, ", ") + " is served by " + strings.Join(from, ", ")
}

func mac(m [6]byte) string { return net.HardwareAddr(m[:]).String() }

// quoteShell quotes s for a POSIX shell where it must.
func quoteShell(s string) string {
	plain := func(r rune) bool {
		return r == '=' || r == '/' || r == '.' || r == ',' || r == ':' || r == '%' || r == '+' || r == '@' ||
			r < 128 && isWordByte(byte(r))
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
