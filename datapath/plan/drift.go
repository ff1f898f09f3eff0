package plan

import (
	"fmt"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Drift lists where the kernel deviates from the plan, one line per item: what is
// missing, what has changed and what is not in the plan.
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
		d.note(e.Netns, l.Origin, "link %s missing", l.Name)
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

func (d *drift) members(netns string, e *ipset.Edit) {
	for _, part := range []struct {
		what    string
		entries []ipset.Entry
	}{{"missing", e.Add}, {"not in the plan", e.Delete}} {
		for i, x := range part.entries {
			if i == membersShown {
				d.note(netns, e.Origin, "set %s: %s more %s", e.Name, count(len(part.entries)-i, "member"), part.what)
				break
			}
			d.note(netns, e.Origin, "set %s: member %s %s", e.Name, e.Type.Words(x), part.what)
		}
	}
}

func (d *drift) virtual(netns string, e *ipvs.Edit) {
	v := &e.Server
	if e.Renew {
		d.note(netns, v.Origin, "virtual server %s changed: want %s", v.Service(), v.Words())
	}
	for _, part := range []struct {
		what string
		real []ipvs.Real
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
		differ("state", state(h.Down), state(want.Down))
		differ("mtu", h.MTU, want.MTU)
		differ("address", mac(h.MAC), mac(want.MAC))
		differ("master", orNone(h.Master), orNone(want.Master))
		differ("hairpin", h.Hairpin, want.Hairpin)
	}
	return s
}

func state(down bool) string {
	if down {
		return "down"
	}
	return "up"
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
		d.note(netns, n.Sets[i].Origin, "set %s (%s) %s", n.Sets[i].Name, n.Sets[i].Kind(), what)
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

func (d *drift) table(netns string, e *iptables.Edit) {
	have := chainOf(d.have[netns], e)
	want := chainOf(d.want[netns], e)
	for _, c := range e.Set {
		place := tableName(e) + " " + c.Name
		h, w := have[c.Name], want[c.Name]
		if h == nil && c.Policy == "" {
			d.note(netns, Origin{}, "%s: chain missing", place)
		}
		if h == nil {
			h = &iptables.Chain{Policy: c.Policy}
		}
		if w == nil {
			w = &iptables.Chain{Policy: c.Policy}
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

func tableName(e *iptables.Edit) string {
	if e.IPv6 {
		return "ip6 " + e.Name
	}
	return e.Name
}

func chainOf(n *Netns, e *iptables.Edit) map[string]*iptables.Chain {
	m := map[string]*iptables.Chain{}
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
func (d *drift) rules(netns, place string, have, want []iptables.Rule) {
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
		for i := range min(len(have), len(want)) {
			if !iptables.SameRule(have[i], want[i]) {
				d.note(netns, want[i].Origin, "%s: rules out of order from number %d: %s", place, i+1, want[i].Save())
				return
			}
		}
	}
}

// nft notes where a table deviates from the plan.
func (d *drift) nft(netns string, e *nft.Edit) {
	place := e.Family + " " + e.Name
	switch {
	case e.Create:
		d.note(netns, e.Origin, "table %s missing", place)
		return
	case e.Remove:
		d.note(netns, Origin{}, "table %s not in the plan", place)
		return
	}
	for i := range e.Sets {
		d.note(netns, e.Sets[i].Origin, "%s: %s %s (%s) missing", place, e.Sets[i].Word(), e.Sets[i].Name, e.Sets[i].Spec())
	}
	for i := range e.DeleteSets {
		d.note(netns, Origin{}, "%s: %s %s (%s) not in the plan", place, e.DeleteSets[i].Word(), e.DeleteSets[i].Name, e.DeleteSets[i].Spec())
	}
	for i := range e.Elements {
		d.nftElements(netns, place, &e.Elements[i])
	}
	have, want := nftChains(d.have[netns], e), nftChains(d.want[netns], e)
	for i := range e.Chains {
		w := &e.Chains[i]
		h := have[w.Name]
		if h == nil {
			d.note(netns, Origin{}, "%s %s: chain missing", place, w.Name)
			h = &nft.Chain{}
		} else if h.IsBase() && h.Spec() != w.Spec() {
			d.note(netns, Origin{}, "%s %s: is %s want %s", place, w.Name, h.Spec(), w.Spec())
		}
		if full := want[w.Name]; full != nil {
			w = full
		}
		d.nftRules(netns, place+" "+w.Name, h.Rules, w.Rules)
	}
	for _, name := range e.DeleteChains {
		d.note(netns, Origin{}, "%s %s: chain not in the plan", place, name)
	}
}

func nftChains(n *Netns, e *nft.Edit) map[string]*nft.Chain {
	m := map[string]*nft.Chain{}
	for i := range n.NFT {
		t := &n.NFT[i]
		if t.Family != e.Family || t.Name != e.Name {
			continue
		}
		for j := range t.Chains {
			m[t.Chains[j].Name] = &t.Chains[j]
		}
	}
	return m
}

func (d *drift) nftElements(netns, place string, x *nft.SetEdit) {
	for _, part := range []struct {
		what string
		list []nft.Element
	}{{"missing", x.Add}, {"not in the plan", x.Delete}} {
		for i := range part.list {
			if i == membersShown {
				d.note(netns, x.Set.Origin, "%s: %s %s: %s more %s", place, x.Set.Word(), x.Set.Name, count(len(part.list)-i, "element"), part.what)
				break
			}
			d.note(netns, x.Set.Origin, "%s: %s %s: element %s %s", place, x.Set.Word(), x.Set.Name, x.Set.Words(&part.list[i]), part.what)
		}
	}
}

// nftRules compares two lists of rules as multisets; when they hold the same rules, only
// the order differs.
func (d *drift) nftRules(netns, place string, have, want []nft.Rule) {
	there := map[string]int{}
	for i := range have {
		there[have[i].Words()]++
	}
	before := len(d.lines)
	for i := range want {
		words := want[i].Words()
		if there[words] > 0 {
			there[words]--
			continue
		}
		d.note(netns, want[i].Origin, "%s: rule missing: %s", place, words)
	}
	for i := range have {
		if words := have[i].Words(); there[words] > 0 {
			there[words]--
			d.note(netns, Origin{}, "%s: rule not in the plan: %s", place, words)
		}
	}
	if len(d.lines) > before {
		return
	}
	for i := range min(len(have), len(want)) {
		if have[i].Words() != want[i].Words() {
			d.note(netns, want[i].Origin, "%s: rules out of order from number %d: %s", place, i+1, want[i].Words())
			return
		}
	}
}
