package plan

import "fmt"

// Drift says where the kernel has left the plan, one line per item: what is
// missing, what has changed and what is there that the plan does not know.
//
//	node.node1: nat KUBE-SVC-2IRACUALRELARSND: rule missing: -j … (web.hcl:40 service default/web)
func Drift(have, want *Plan) []string {
	d := &drift{have: byName(have), want: byName(want)}
	c := Diff(have, want)
	for i := range c.Create {
		n := &c.Create[i]
		d.note(n.Name, n.Origin, "network namespace missing")
	}
	for i := range c.Edit {
		d.edit(&c.Edit[i])
	}
	for _, name := range c.Remove {
		d.note(name, Origin{}, "network namespace not in the plan")
	}
	return d.lines
}

type drift struct {
	have, want map[string]*Netns
	lines      []string
}

func byName(p *Plan) map[string]*Netns {
	m := make(map[string]*Netns, len(p.Netns))
	for i := range p.Netns {
		m[p.Netns[i].Name] = &p.Netns[i]
	}
	return m
}

func (d *drift) note(netns string, o Origin, format string, args ...any) {
	line := netns + ": " + fmt.Sprintf(format, args...)
	if o != (Origin{}) {
		line += " (" + o.String() + ")"
	}
	d.lines = append(d.lines, line)
}

func (d *drift) edit(e *Edit) {
	replaced := map[string]bool{}
	for _, l := range e.replaced() {
		replaced[l.Name] = true
	}
	for _, l := range e.Add.Links {
		if replaced[l.Name] {
			d.note(e.Netns, l.Origin, "link %s changed: want%s type %s%s", l.Name, l.attrs(), l.Type, l.typeAttrs())
			continue
		}
		// What is down counts as absent: it takes its routes along.
		d.note(e.Netns, l.Origin, "link %s missing or down", l.Name)
	}
	for _, l := range e.Change.Links {
		d.note(e.Netns, l.Origin, "link %s changed: %s", l.Name, linkChange(d.have[e.Netns], l))
	}
	for _, l := range e.Delete.Links {
		if !replaced[l.Name] {
			d.note(e.Netns, Origin{}, "link %s not in the plan", l.Name)
		}
	}
	d.items(e.Netns, "missing", &e.Add)
	d.items(e.Netns, "changed", &e.Change)
	d.items(e.Netns, "not in the plan", &e.Delete)
	for i := range e.Sets {
		d.members(e.Netns, &e.Sets[i])
	}
	for i := range e.Tables {
		d.table(e.Netns, &e.Tables[i])
	}
	for i := range e.NFT {
		d.nft(e.Netns, &e.NFT[i])
	}
	for i := range e.Virtual {
		d.virtual(e.Netns, &e.Virtual[i])
	}
}

// membersShown bounds the members of one set that Drift names.
const membersShown = 10

func (d *drift) members(netns string, e *SetEdit) {
	for _, part := range []struct {
		what    string
		entries []SetEntry
	}{{"missing", e.Add}, {"not in the plan", e.Delete}} {
		for i, x := range part.entries {
			if i == membersShown {
				d.note(netns, e.Origin, "set %s: %s more %s", e.Name, count(len(part.entries)-i, "member"), part.what)
				break
			}
			d.note(netns, e.Origin, "set %s: member %s %s", e.Name, e.Type.appendEntry(nil, x), part.what)
		}
	}
}

func (d *drift) virtual(netns string, e *VirtualEdit) {
	v := &e.Server
	if e.Renew {
		d.note(netns, v.Origin, "virtual server %s changed: want %s", v.Service(), v.Words())
	}
	for _, part := range []struct {
		what string
		real []RealServer
	}{{"missing", e.Add}, {"changed", e.Change}, {"not in the plan", e.Delete}} {
		for i := range part.real {
			r := &part.real[i]
			d.note(netns, r.Origin, "virtual server %s: real server %s weight %d %s", v.Service(), r.Addr, r.Weight, part.what)
		}
	}
}

// linkChange names the attributes in which the link differs.
func linkChange(have *Netns, want Link) string {
	var s string
	for _, h := range have.Links {
		if h.Name != want.Name {
			continue
		}
		differ := func(name string, have, want any) {
			if have != want {
				if s != "" {
					s += ", "
				}
				s += fmt.Sprintf("%s is %v, want %v", name, have, want)
			}
		}
		differ("mtu", h.MTU, want.MTU)
		differ("address", mac(h.MAC), mac(want.MAC))
		differ("master", orNone(h.Master), orNone(want.Master))
		differ("hairpin", h.Hairpin, want.Hairpin)
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (d *drift) items(netns, what string, n *Netns) {
	for _, a := range n.Addrs {
		d.note(netns, a.Origin, "address %s dev %s %s", a.Prefix, a.Link, what)
	}
	for _, r := range n.Routes {
		d.note(netns, r.Origin, "route %s %s", r.words(), what)
	}
	for _, x := range n.Neighs {
		d.note(netns, x.Origin, "neighbour %s lladdr %s dev %s %s", x.Addr, mac(x.MAC), x.Link, what)
	}
	for _, f := range n.FDB {
		d.note(netns, f.Origin, "FDB entry %s dev %s dst %s %s", mac(f.MAC), f.Link, f.Dst, what)
	}
	for _, s := range n.Sysctls {
		d.note(netns, Origin{}, "sysctl %s=%s %s", s.Key, s.Value, what)
	}
	for i := range n.Qdiscs {
		d.note(netns, n.Qdiscs[i].Origin, "qdisc %s %s", n.Qdiscs[i].words(), what)
	}
	for i := range n.Sets {
		d.note(netns, n.Sets[i].Origin, "set %s (%s) %s", n.Sets[i].Name, n.Sets[i].kind(), what)
	}
	for i := range n.Virtual {
		d.note(netns, n.Virtual[i].Origin, "virtual server %s %s", n.Virtual[i].Words(), what)
	}
	for _, a := range n.Agents {
		d.note(netns, a.Origin, "agent %s %s", a.words(), what)
	}
	for _, x := range n.Execs {
		d.note(netns, x.Origin, "program %s %s", x.Name, what)
	}
}

func (d *drift) table(netns string, e *TableEdit) {
	have := chainOf(d.have[netns], e)
	want := chainOf(d.want[netns], e)
	for _, c := range e.Set {
		place := tableName(e) + " " + c.Name
		h, w := have[c.Name], want[c.Name]
		if h == nil && c.Policy == "" {
			d.note(netns, Origin{}, "%s: chain missing", place)
		}
		if h == nil {
			h = &Chain{Policy: c.Policy}
		}
		if w == nil {
			w = &Chain{Policy: c.Policy}
		}
		if h.Policy != w.Policy {
			d.note(netns, Origin{}, "%s: policy is %s, want %s", place, h.Policy, w.Policy)
		}
		d.rules(netns, place, h.Rules, w.Rules)
	}
	for _, name := range e.Delete {
		d.note(netns, Origin{}, "%s %s: chain not in the plan", tableName(e), name)
	}
}

func tableName(e *TableEdit) string {
	if e.IPv6 {
		return "ip6 " + e.Name
	}
	return e.Name
}

func chainOf(n *Netns, e *TableEdit) map[string]*Chain {
	m := map[string]*Chain{}
	for i := range n.Tables {
		t := &n.Tables[i]
		if t.IPv6 != e.IPv6 || t.Name != e.Name {
			continue
		}
		for j := range t.Chains {
			m[t.Chains[j].Name] = &t.Chains[j]
		}
	}
	return m
}

// rules compares two rule lists as multisets; when they hold the same rules, only
// the order differs.
func (d *drift) rules(netns, place string, have, want []Rule) {
	there := map[string]int{}
	for i := range have {
		there[have[i].Save()]++
	}
	before := len(d.lines)
	for i := range want {
		text := want[i].Save()
		if there[text] > 0 {
			there[text]--
			continue
		}
		d.note(netns, want[i].Origin, "%s: rule missing: %s", place, text)
	}
	for i := range have {
		if text := have[i].Save(); there[text] > 0 {
			there[text]--
			d.note(netns, Origin{}, "%s: rule not in the plan: %s", place, text)
		}
	}
	if len(d.lines) == before && len(want) > 0 && len(have) > 0 {
		var cmp comparer
		for i := range min(len(have), len(want)) {
			if !cmp.sameRule(have[i], want[i]) {
				d.note(netns, want[i].Origin, "%s: rules out of order from number %d: %s", place, i+1, want[i].Save())
				return
			}
		}
	}
}
