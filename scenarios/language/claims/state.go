package claims

import (
	"fmt"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// maxState bounds the claims about hosts of one expectation.
const maxState = 100

// stateOf reads what an expectation claims of hosts.
func (l *reader) stateOf(c *expectBody, sc blocks.Scope) (claims []state.Claim) {
	for _, kind := range state.Kinds() {
		for _, b := range c.Named(kind) {
			if x := l.stateClaim(kind, b, sc); x != nil {
				claims = append(claims, x)
			}
		}
	}
	if len(claims) > maxState {
		l.Errorf(c.Named(state.Kinds()[0])[0].KindRange, "Too many claims", "This expectation has %d claims about hosts. The limit is %d.", len(claims), maxState)
		return nil
	}
	return claims
}

// onlyState reports whether the expectation is about hosts and nothing is dialed, and what of it
// then has no meaning.
func (l *reader) onlyState(c *expectBody, claims []state.Claim) bool {
	some := slices.ContainsFunc(state.Kinds(), func(k string) bool { return len(c.Named(k)) > 0 })
	if !some || c.from != nil || c.to != nil {
		return false
	}
	for _, x := range claims {
		if x.PerConnection() {
			l.Errorf(source.RangeOf(x.On().Origin), "No connection to look at", "This is about each connection of the expectation, which has none. Add from = … and to = …")
		}
	}
	for _, a := range c.table().Attrs {
		if a.At == nil {
			continue // planned
		}
		if at := c.Attr(a.Name); at != nil && !slices.Contains([]string{"name", "for_each", "proves"}, a.Name) {
			l.Errorf(at.NameRange, "No connection", "%s is about connections, and the expectation has none. Remove it, or add from = … and to = …", a.Name)
		}
	}
	for _, b := range c.table().Blocks {
		if at := c.Named(b.Name); len(at) > 0 && !slices.Contains(state.Kinds(), b.Name) {
			l.Errorf(at[0].KindRange, "No connection", "The %s block is about connections, and the expectation has none. Remove it, or add from = … and to = …", b.Name)
		}
	}
	return true
}

func (l *reader) stateClaim(kind string, b *blocks.Block, sc blocks.Scope) state.Claim {
	s := stateReader{l, b, sc.With(b.Scope)}
	switch kind {
	case "rules":
		return s.rules()
	case "run":
		return s.run()
	case "interface":
		return s.link()
	case "route":
		return s.route()
	case "tracked":
		return s.tracked()
	}
	return s.seen()
}

// stateReader reads one block about a host.
type stateReader struct {
	*reader
	b  *blocks.Block
	sc blocks.Scope
}

// host reads where to look, and reports false where that cannot be. The claim is at the first of
// some attributes that is written.
func (s *stateReader) host(a *hcl.Attribute, filters bool, at ...*hcl.Attribute) (h state.Host, ok bool) {
	if a == nil {
		s.Errorf(s.b.KindRange, "Missing attribute", "A %s block says where to look. Add on = node.NAME.", s.b.Kind)
		return h, false
	}
	v, ok := s.Value(a, s.sc)
	if !ok {
		return h, false
	}
	object := s.object(v)
	place, ok := s.reader.place(v)
	_, pod := object.(*topology.Pod)
	_, client := object.(*topology.Client)
	switch {
	case !ok && blocks.IsKind(v, blocks.HostKinds...):
		s.Silent = true // not resolved, and reported
		return h, false
	case !ok:
		s.Errorf(a.Expr.Range(), "Nowhere to look", "on must be one node, pod, client or router, not %s.%s", blocks.QuoteOr(v), s.suggest(v))
		return h, false
	case filters && (pod || client):
		s.Errorf(a.Expr.Range(), "No rules there", "Only nodes and routers have rules and track connections, not %s. Write on = node.NAME.", blocks.Describe(v))
		return h, false
	}
	h = state.Host{Name: place.Name, Netns: place.Netns, Origin: source.OriginOf(s.b.KindRange)}
	for _, x := range at {
		if x != nil {
			h.Origin = source.OriginOf(x.Expr.Range())
			break
		}
	}
	return h, true
}

// texts reads one text or several.
func (s *stateReader) texts(a *hcl.Attribute) (list []string) {
	v, ok := s.Value(a, s.sc)
	if !ok {
		return nil
	}
	one, ok := blocks.AsText(v)
	if list = []string{one}; !ok {
		if list, ok = blocks.TextsIn(v); !ok {
			s.WrongType(a, "a string or a list of strings", `"-j DROP"`, v)
			return nil
		}
	}
	for i := range list {
		if list[i] = strings.Join(strings.Fields(list[i]), " "); list[i] == "" {
			s.Errorf(a.Expr.Range(), "Empty text", "Every rule has an empty text. Write a part of a rule, in whole words.")
			return nil
		}
	}
	return list
}

func (s *stateReader) count(a *hcl.Attribute) *int {
	n := s.Number(a, s.sc)
	switch {
	case !n.Set:
		return nil
	case n.Value < 0:
		s.Errorf(source.RangeOf(n.Origin), "Count out of range", "The count %d is out of range. Use a number from 0 up.", n.Value)
		return nil
	}
	return &n.Value
}

// exclusive reports that absent leaves nothing else to claim.
func (s *stateReader) exclusive(absent bool, others ...*hcl.Attribute) {
	for _, a := range others {
		if absent && a != nil && !s.IsNull(a, s.sc) {
			s.Errorf(a.NameRange, "Absent, but claimed", "What is absent has no %s. Remove %s, or absent.", a.Name, a.Name)
		}
	}
}

// iptablesTables are those of the kernel (iptables(8)).
var iptablesTables = []string{"filter", "nat", "mangle", "raw", "security"}

func (s *stateReader) rules() state.Claim {
	c := &rulesBody{}
	c.Content = s.Read(s.b, c.table())
	r := &state.Rules{Tool: s.Word(c.tool, "tool", s.sc, "", state.Tools(), nil), Table: s.Text(c.tableName, s.sc).Value,
		Chain: s.Text(c.chain, s.sc).Value, Set: s.Text(c.set, s.sc).Value,
		Has: s.texts(c.has), Lacks: s.texts(c.lacks), Equals: s.lines(c.equals), Count: s.count(c.count), Absent: s.Boolean(c.absent, s.sc).Value, Counted: s.counted(c.counted)}
	s.exclusive(r.Absent, c.has, c.lacks, c.equals, c.count, c.counted)
	if (r.Tool == "iptables" || r.Tool == "ip6tables") && r.Table != "" && !slices.Contains(iptablesTables, r.Table) {
		s.Errorf(c.tableName.Expr.Range(), "Unknown table", "%q is no table of %s.%s", r.Table, r.Tool, blocks.OrKnown(r.Table, iptablesTables))
	}
	for _, x := range []struct {
		a    *hcl.Attribute
		what string
		not  []string
	}{{c.tableName, "tables", []string{"ipset", "ipvsadm"}}, {c.chain, "chains", []string{"ipset", "ipvsadm"}}, {c.set, "sets", []string{"iptables", "ip6tables", "ipvsadm"}}} {
		if x.a != nil && slices.Contains(x.not, r.Tool) {
			s.Errorf(x.a.NameRange, "Not of this tool", "%s has no %s. Remove %s, or tool.", r.Tool, x.what, x.a.Name)
		}
	}
	switch {
	case c.chain != nil && c.set != nil:
		s.Errorf(c.set.NameRange, "Chain and set", "A rule is in a chain, a member in a set. Remove one of them, or write two blocks.")
	case r.Absent && c.tool == nil && c.tableName == nil && c.chain == nil && c.set == nil:
		s.Errorf(c.absent.NameRange, "What is absent?", "absent is about a table, a chain, a set or all that a tool lists. Add chain = \"NAME\".")
	case len(r.Has) > 1 && (r.Count != nil || r.Counted != nil):
		s.Errorf(c.has.Expr.Range(), "Several texts to count", "count and counted are about the rules that have one text. Write one, or another block.")
	case !r.Absent && s.idle(true, c.has, c.lacks) && s.idle(false, c.equals, c.count, c.counted):
		s.Errorf(s.b.KindRange, "Nothing claimed", "The rules block claims nothing. Add has = \"…\", or lacks, equals, count, counted or absent.")
	}
	var ok bool
	if r.Host, ok = s.host(c.on, true, c.chain, c.set, c.tableName, c.tool); !ok {
		return nil
	}
	return r
}

// idle reports whether attributes say nothing: none is there but as null, or, where that says
// nothing either, as an empty list.
func (s *stateReader) idle(list bool, all ...*hcl.Attribute) bool {
	return !slices.ContainsFunc(all, func(a *hcl.Attribute) bool {
		if a == nil || s.IsNull(a, s.sc) {
			return false
		}
		v, ok := s.Eval(a.Expr, s.sc)
		return !ok || !list || !blocks.IsList(v) || len(blocks.Elements(v)) > 0
	})
}

// lines reads rules, a line each.
func (s *stateReader) lines(a *hcl.Attribute) []string {
	v, ok := s.Value(a, s.sc)
	if !ok {
		return nil
	}
	all, ok := blocks.TextsIn(v)
	if text, one := blocks.AsText(v); one {
		all, ok = strings.Split(text, "\n"), true
	}
	if !ok {
		s.WrongType(a, "text or a list of strings", `file("rules.txt")`, v)
		return nil
	}
	lines := []string{}
	for _, line := range all {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func (s *stateReader) counted(a *hcl.Attribute) *state.Number {
	v, ok := s.Value(a, s.sc)
	if !ok {
		return nil
	}
	if v.Type() == cty.Number {
		n := s.count(a)
		if n == nil {
			return nil
		}
		return &state.Number{Exact: *n}
	}
	if text, _ := blocks.AsText(v); text == "some" {
		return &state.Number{Some: true}
	}
	s.Invalid(a, "number of packets", `be a number from 0 up, or "some"`, "1", v)
	return nil
}

func (s *stateReader) run() state.Claim {
	c := &runBody{}
	c.Content = s.Read(s.b, c.table())
	r := &state.Run{Command: s.Strings(c.command, s.sc), Status: s.Number(c.status, s.sc).Value}
	if r.Status < 0 || r.Status > 255 {
		s.Errorf(c.status.Expr.Range(), "Status out of range", "The status %d is out of range. Use a number from 0 to 255.", r.Status)
	}
	if t := s.Text(c.output, s.sc); t.Set {
		r.Output = &t.Value
	}
	if t := s.Text(c.matches, s.sc); t.Set {
		var err error
		if r.Matches, err = regexp.Compile(t.Value); err != nil {
			s.Errorf(source.RangeOf(t.Origin), "Invalid regular expression", "%s. Write one as in Go, where a backslash in quotes is \\\\.", sentence(err.Error()))
		} else if matchesAll(t.Value) {
			s.Errorf(source.RangeOf(t.Origin), "Matches anything", "Every output matches this, even an empty one. Write what must be in it, or remove matches.")
		}
	}
	switch {
	case c.command == nil:
		s.Errorf(s.b.KindRange, "Missing attribute", "A run block says what runs. Add command = [\"ip\", \"address\"].")
		return nil
	case len(r.Command) == 0 || r.Command[0] == "":
		if v, ok := s.Value(c.command, s.sc); ok && blocks.IsList(v) {
			s.Errorf(c.command.Expr.Range(), "Empty command", "The command is empty, so nothing would run. Write command = [\"ip\", \"address\"].")
		}
		return nil
	}
	var ok bool
	if r.Host, ok = s.host(c.on, false, c.command); !ok {
		return nil
	}
	if v, known := s.Value(c.on, s.sc); known {
		if pod, is := s.object(v).(*topology.Pod); is {
			r.Program = pod.AgentName()
		}
	}
	return r
}

// matchesAll reports whether a regular expression is sure to match any text, since nothing of it
// has to be there and only one end of the text, or neither, is named.
func matchesAll(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	all := func(end syntax.Op) bool {
		var empty func(re *syntax.Regexp) bool
		empty = func(re *syntax.Regexp) bool {
			switch re.Op {
			case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest, end:
				return true
			case syntax.OpRepeat:
				return re.Min == 0 || empty(re.Sub[0])
			case syntax.OpPlus, syntax.OpCapture:
				return empty(re.Sub[0])
			case syntax.OpConcat:
				return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !empty(sub) })
			case syntax.OpAlternate:
				return slices.ContainsFunc(re.Sub, empty)
			}
			return false
		}
		return empty(re)
	}
	return all(syntax.OpBeginText) || all(syntax.OpEndText)
}

// sentence is what a library says, as the beginning of a sentence.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// linkTypes are the types of interfaces that a host may have, its own agents' too (ip-link(8)).
var linkTypes = strings.Fields(`bond bridge dummy erspan geneve gre gretap ifb ip6erspan ip6gre ip6gretap ip6tnl ipip ipvlan ipvtap
	macsec macvlan macvtap netkit nlmon sit tun veth vlan vrf vti vti6 vxlan wireguard xfrm`)

func (s *stateReader) link() state.Claim {
	c := &interfaceBody{}
	c.Content = s.Read(s.b, c.table())
	i := &state.Interface{Link: s.Text(c.name, s.sc).Value, Type: s.Word(c.kind, "type of interface", s.sc, "", linkTypes, nil), Master: s.Text(c.master, s.sc).Value,
		Addrs: s.prefixes(c.address), MTU: s.between(c.mtu, s.sc, "MTU", 68, 65535), Absent: s.Boolean(c.absent, s.sc).Value}
	if b := s.Boolean(c.up, s.sc); b.Set {
		i.Up = &b.Value
	}
	if i.Link == "lo" {
		s.Errorf(c.name.Expr.Range(), "Not the loopback interface", "Every host has lo, and the plan does not list it. Name another interface.")
	}
	if c.name == nil && c.address == nil && c.kind == nil {
		s.Errorf(s.b.KindRange, "Which interface?", "The interface block names none. Add name = \"cni0\", or address or type.")
	}
	var ok bool
	if i.Host, ok = s.host(c.on, false, c.name, c.address); !ok {
		return nil
	}
	return i
}

// prefixes reads addresses with or without prefix lengths, as they are.
func (s *stateReader) prefixes(a *hcl.Attribute) (list []netip.Prefix) {
	v, ok := s.Value(a, s.sc)
	if !ok {
		return nil
	}
	for _, o := range blocks.ObjectsIn(v) {
		text, _ := blocks.AsText(o)
		p, err := netip.ParsePrefix(text)
		if err != nil {
			addr, failed := netip.ParseAddr(text)
			if err = failed; err == nil {
				p = netip.PrefixFrom(addr, addr.BitLen())
			}
		}
		if err != nil {
			s.Invalid(a, "address", "hold addresses, with or without a prefix length", `"10.96.5.5"`, o)
			return nil
		}
		list = append(list, p)
	}
	return list
}

func (s *stateReader) route() state.Claim {
	c := &routeBody{}
	c.Content = s.Read(s.b, c.table())
	r := &state.ToRoute{Via: s.Address(c.via, s.sc).Value, Dev: s.Text(c.dev, s.sc).Value, Absent: s.Boolean(c.absent, s.sc).Value,
		Type: s.Word(c.kind, "type of route", s.sc, "", []string{"unicast", "blackhole", "unreachable"}, nil)}
	if c.to == nil {
		s.Errorf(s.b.KindRange, "Missing attribute", "A route block names a destination. Add to = \"default\", or a CIDR.")
		return nil
	}
	to := s.Text(c.to, s.sc)
	switch p, ok := blocks.PrefixOf(to.Value); {
	case to.Value == "default":
		r.To = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	case ok:
		r.To = p.Masked()
	case to.Set:
		s.Errorf(source.RangeOf(to.Origin), "Invalid destination", "%q is no CIDR or address. Write to = \"default\", or such as \"10.244.1.0/24\".", to.Value)
		return nil
	default:
		return nil
	}
	var ok bool
	if r.Host, ok = s.host(c.on, false, c.to); !ok {
		return nil
	}
	return r
}

var packetProtocols = []string{"tcp", "udp", "sctp", "icmp", "icmpv6"}

func (s *stateReader) tracked() state.Claim {
	c := &trackedBody{}
	c.Content = s.Read(s.b, c.table())
	t := &state.Tracked{Protocol: s.Word(c.protocol, "protocol", s.sc, "", packetProtocols, nil),
		Source: s.endpoint(c.source), Destination: s.endpoint(c.destination), ReplySource: s.endpoint(c.replySource), ReplyDestination: s.endpoint(c.replyDestination),
		Count: s.count(c.count), Absent: s.Boolean(c.absent, s.sc).Value}
	if b := s.Boolean(c.replied, s.sc); b.Set {
		t.Replied = &b.Value
	}
	s.exclusive(t.Absent, c.count)
	var ok bool
	if t.Host, ok = s.host(c.on, true); !ok {
		return nil
	}
	return t
}

func (s *stateReader) seen() state.Claim {
	c := &seenBody{}
	c.Content = s.Read(s.b, c.table())
	const mainLink = "eth0" // of every host, as podnet.Uplink names it
	x := &state.Seen{Link: s.Text(c.link, s.sc).Or(mainLink), Direction: s.Word(c.direction, "direction", s.sc, "", []string{"in", "out"}, nil),
		Protocol: s.Word(c.protocol, "protocol", s.sc, "", packetProtocols, nil), Source: s.endpoint(c.source), Destination: s.endpoint(c.destination),
		TTL: s.between(c.ttl, s.sc, "TTL", 1, 255), Encapsulation: s.Word(c.encapsulation, "encapsulation", s.sc, "", state.Encapsulations(), nil),
		OuterSource: s.endpoint(c.outerSource), OuterDestination: s.endpoint(c.outerDestination), Count: s.count(c.count), Absent: s.Boolean(c.absent, s.sc).Value}
	s.exclusive(x.Absent, c.count)
	inside := []*hcl.Attribute{c.protocol, c.source, c.destination, c.ttl}
	for _, a := range inside {
		if a != nil && state.Hides(x.Encapsulation) {
			s.Errorf(a.NameRange, "Encrypted", "Nothing is known of a packet inside %s but what is around it. Remove %s; outer_source and outer_destination can be claimed.", x.Encapsulation, a.Name)
		}
	}
	for _, a := range []*hcl.Attribute{c.outerSource, c.outerDestination} {
		if a != nil && x.Encapsulation == state.Plain {
			s.Errorf(a.NameRange, "No tunnel, but claimed", "Nothing is around a packet in no tunnel. Remove %s, or encapsulation.", a.Name)
		}
	}
	var ok bool
	if x.Host, ok = s.host(c.on, false, c.link); !ok {
		return nil
	}
	return x
}

// endpoint reads the addresses and the port of one end of a packet.
func (s *stateReader) endpoint(a *hcl.Attribute) (e state.Endpoint) {
	v, ok := s.Value(a, s.sc)
	if !ok {
		return e
	}
	ports := map[uint16]bool{}
	for _, o := range blocks.ObjectsIn(v) {
		prefixes, port, ok := s.endOf(o)
		if !ok {
			s.Invalid(a, "end of a packet", "hold addresses, CIDRs, \"address:port\" or \":port\", nodes, pods, clients or routers", `"10.96.5.5:80"`, o)
			return state.Endpoint{}
		}
		ports[port] = true
		e.Addrs, e.Port = append(e.Addrs, prefixes...), port
	}
	switch {
	case len(ports) > 1:
		s.Errorf(a.Expr.Range(), "Several ports", "All elements of %s must have the same port, or none. Write a block for each port.", a.Name)
	case len(ports) == 0:
		s.Errorf(a.Expr.Range(), "Empty list", "%s is an empty list, so nothing fits. Name an address, or remove it.", a.Name)
	}
	return e
}

func (s *stateReader) endOf(o cty.Value) (list []netip.Prefix, port uint16, ok bool) {
	text, isText := blocks.AsText(o)
	if host, number, cut := names.CutPort(text); isText && cut {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 {
			return nil, 0, false
		}
		if port = uint16(n); host == "" {
			return nil, port, true
		}
		addr, err := netip.ParseAddr(host)
		return []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}, port, err == nil
	}
	list, ok = s.sourcesOf(o)
	return list, 0, ok
}

// lookedAt reports claims that see each connection where that is not possible.
func (l *reader) lookedAt(e *expect.Reach, c *expectBody) {
	if e.Measured() && slices.ContainsFunc(e.State, state.Claim.PerConnection) {
		l.Errorf(measured(c), "Measured and looked at", "What is looked at in each connection would disturb a measurement. Write two expectations.")
	}
	named := func(t expect.Target) bool {
		return slices.ContainsFunc(t.Lookups, func(x *flow.Lookup) bool { return x != nil })
	}
	if slices.ContainsFunc(e.To, named) && slices.ContainsFunc(e.State, state.Claim.PerConnection) {
		l.Errorf(c.to.Expr.Range(), "Looked up, and looked at", "What is looked at in each connection would be the lookup of its name, too. Name the object itself, such as service.web, or its address.")
	}
	if n := e.Connections() * len(e.From) * len(e.To); n > maxLooked && slices.ContainsFunc(e.State, state.Claim.PerConnection) {
		l.Errorf(source.RangeOf(e.Origin), "Too many connections to look at", "%s", fmt.Sprintf("This expectation makes %d connections, one after the other, and looks at each. The limit is %d: set count, or write an expectation without answer or spread.", n, maxLooked))
	}
}

// maxLooked bounds the connections that are made one by one.
const maxLooked = 2000
