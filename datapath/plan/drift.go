package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/ordered"
	"github.com/netlab/netlab/datapath/plan/zone"
)

// Drift lists where the kernel deviates from the plan, one line per item: what is
// missing, what has changed and what is not in the plan.
//
//	node.node1: nat KUBE-SVC-2IRACUALRELARSND: rule missing: -j … (web.hcl:40 service default/web)
func Drift(have, want *Plan) []string {
	want = want.Adopt(have, want)
	d := &drift{have: ordered.Index(have.Netns, netnsName), want: ordered.Index(want.Netns, netnsName)}
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
	d.ended(e)
	d.items(e.Netns, "changed", &e.Change)
	d.items(e.Netns, "not in the plan", &e.Delete)
	for i := range e.Delete.Deviations {
		d.note(e.Netns, Origin{}, "%s %s", e.Delete.Deviations[i].What, e.Delete.Deviations[i].Wrong)
	}
	for i := range e.Sets {
		s := &e.Sets[i]
		noteElements(d, e.Netns, s.Origin, "set "+s.Name, "member", s.Add, s.Delete, func(x *ipset.Entry) string { return s.Type.Words(*x) })
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

// ended notes programs and tunnels that ended, which are in Change, and takes them from there.
func (d *drift) ended(e *Edit) {
	e.Change.Execs = reject(e.Change.Execs, func(x occupant.Exec) bool {
		i := slices.IndexFunc(d.have[e.Netns].Execs, func(h occupant.Exec) bool { return h.Name == x.Name && h.State != "" })
		if i >= 0 {
			d.note(e.Netns, x.Origin, "the program of %s %s", x.Name, d.have[e.Netns].Execs[i].State)
		}
		return i >= 0
	})
	e.Change.Tunnels = reject(e.Change.Tunnels, func(t occupant.Tunnel) bool {
		i := slices.IndexFunc(d.have[e.Netns].Tunnels, func(h occupant.Tunnel) bool { return h.Link == t.Link && h.State != "" })
		if i >= 0 {
			d.note(e.Netns, t.Origin, "the tunnel of %s has ended: %s", t.Link, d.have[e.Netns].Tunnels[i].State)
		}
		return i >= 0
	})
	e.Change.Speakers = reject(e.Change.Speakers, func(s bgp.Speaker) bool {
		h := d.have[e.Netns].Speakers[0]
		if h.Same(&s) {
			d.sessions(e.Netns, &h, &s)
		}
		return h.Same(&s)
	})
}

// sessions notes BGP sessions that are down, or up although the plan has a fault that they
// could not survive.
func (d *drift) sessions(netns string, have, want *bgp.Speaker) {
	for i := range want.Peers {
		p := &want.Peers[i]
		switch {
		case have.Peers[i].Down && !p.Down:
			d.note(netns, p.Origin, "BGP session with %s is not established", p.Words())
		case p.Down && !have.Peers[i].Down:
			d.note(netns, p.Origin, "BGP session with %s is established, in spite of the fault", p.Words())
		}
	}
}

// membersShown bounds the members of one set that Drift names.
const membersShown = 10

// noteElements notes what is missing in a set, and what the plan does not have.
func noteElements[T any](d *drift, netns string, o Origin, set, noun string, add, del []T, words func(*T) string) {
	for _, part := range []struct {
		what string
		list []T
	}{{"missing", add}, {"not in the plan", del}} {
		for i := range part.list {
			if i == membersShown {
				d.note(netns, o, "%s: %s more %s", set, count(len(part.list)-i, noun), part.what)
				break
			}
			d.note(netns, o, "%s: %s %s %s", set, noun, words(&part.list[i]), part.what)
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
		differ("address", h.MAC, want.MAC)
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
	noteEach(d, netns, what, n.Addrs, func(a *Addr) (Origin, string) { return a.Origin, fmt.Sprintf("address %s dev %s", a.Prefix, a.Link) })
	noteEach(d, netns, what, n.Routes, func(r *Route) (Origin, string) {
		if r.Protocol == BGP {
			return r.Origin, "learned route " + r.words()
		}
		return r.Origin, "route " + r.words()
	})
	noteEach(d, netns, what, n.Neighs, func(x *Neigh) (Origin, string) {
		return x.Origin, fmt.Sprintf("neighbour %s lladdr %s dev %s", x.Addr, x.MAC, x.Link)
	})
	noteEach(d, netns, what, n.FDB, func(f *FDB) (Origin, string) {
		return f.Origin, fmt.Sprintf("FDB entry %s dev %s dst %s", f.MAC, f.Link, f.Dst)
	})
	noteEach(d, netns, what, n.Sysctls, func(s *Sysctl) (Origin, string) { return Origin{}, fmt.Sprintf("sysctl %s=%s", s.Key, s.Value) })
	noteEach(d, netns, what, n.Qdiscs, func(q *Qdisc) (Origin, string) { return q.Origin, "qdisc " + q.words() })
	noteEach(d, netns, what, n.XfrmStates, func(s *XfrmState) (Origin, string) { return s.Origin, "xfrm state " + s.words() })
	noteEach(d, netns, what, n.XfrmPolicies, func(p *XfrmPolicy) (Origin, string) { return p.Origin, "xfrm policy " + p.words() })
	noteEach(d, netns, what, n.Sets, func(s *ipset.Set) (Origin, string) { return s.Origin, fmt.Sprintf("set %s (%s)", s.Name, s.Kind()) })
	noteEach(d, netns, what, n.Virtual, func(v *ipvs.Server) (Origin, string) { return v.Origin, "virtual server " + v.Words() })
	noteEach(d, netns, what, n.Agents, func(a *occupant.Agent) (Origin, string) { return a.Origin, "agent " + a.Words() })
	noteEach(d, netns, what, n.Tunnels, func(t *occupant.Tunnel) (Origin, string) { return t.Origin, "tunnel " + t.Words() })
	noteEach(d, netns, what, n.Speakers, func(s *bgp.Speaker) (Origin, string) { return s.Origin, "BGP speaker (" + s.Words() + ")" })
	noteEach(d, netns, what, n.ProxyPorts, func(p *occupant.ProxyPort) (Origin, string) { return p.Origin, "proxy port " + p.Words() })
	noteEach(d, netns, what, n.Records, func(r *zone.Record) (Origin, string) { return r.Origin, "DNS record " + r.String() })
	noteEach(d, netns, what, n.Resolvers, func(r *occupant.Resolver) (Origin, string) { return r.Origin, "resolver of " + r.Words() })
	noteEach(d, netns, what, n.Files, func(p *occupant.PodFiles) (Origin, string) { return p.Origin, "files of pod " + p.Words() })
	noteEach(d, netns, what, n.Routing, func(r *httproute.Route) (Origin, string) { return r.Origin, "HTTP route " + r.Words() })
	noteEach(d, netns, what, n.Execs, func(x *occupant.Exec) (Origin, string) { return x.Origin, "program of " + x.Name })
}

// noteEach notes what is wrong with each of some items, which describe tells.
func noteEach[T any](d *drift, netns, what string, list []T, describe func(*T) (Origin, string)) {
	for i := range list {
		o, item := describe(&list[i])
		d.note(netns, o, "%s %s", item, what)
	}
}

func (d *drift) table(netns string, e *iptables.Edit) {
	chains := func(n *Netns) map[string]*iptables.Chain {
		for _, t := range n.Tables {
			if t.IPv6 == e.IPv6 && t.Name == e.Name {
				return ordered.Index(t.Chains, func(c *iptables.Chain) string { return c.Name })
			}
		}
		return nil
	}
	have, want := chains(d.have[netns]), chains(d.want[netns])
	for _, c := range e.Set {
		place := tableName(e) + " " + c.Name
		if have[c.Name] == nil && c.Policy == "" {
			d.note(netns, Origin{}, "%s: chain missing", place)
		}
		empty := &iptables.Chain{Policy: c.Policy}
		h, w := cmp.Or(have[c.Name], empty), cmp.Or(want[c.Name], empty)
		if h.Policy != w.Policy {
			d.note(netns, Origin{}, "%s: policy is %s, want %s", place, h.Policy, w.Policy)
		}
		noteRules(d, netns, place, h.Rules, w.Rules, func(r *iptables.Rule) (string, Origin) { return r.Save(), r.Origin })
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

// noteRules compares two lists of rules as multisets; when they hold the same rules, only
// the order differs.
func noteRules[R any](d *drift, netns, place string, have, want []R, written func(*R) (string, Origin)) {
	there := map[string]int{}
	for i := range have {
		text, _ := written(&have[i])
		there[text]++
	}
	before := len(d.lines)
	for i := range want {
		text, o := written(&want[i])
		if there[text] > 0 {
			there[text]--
			continue
		}
		d.note(netns, o, "%s: rule missing: %s", place, text)
	}
	for i := range have {
		if text, _ := written(&have[i]); there[text] > 0 {
			there[text]--
			d.note(netns, Origin{}, "%s: rule not in the plan: %s", place, text)
		}
	}
	if len(d.lines) > before {
		return
	}
	for i := range min(len(have), len(want)) {
		is, _ := written(&have[i])
		if text, o := written(&want[i]); is != text {
			d.note(netns, o, "%s: rules out of order from number %d: %s", place, i+1, text)
			return
		}
	}
}

// nft notes where a table deviates from the plan.
func (d *drift) nft(netns string, e *nft.Edit) {
	place := e.Family + " " + e.Name
	switch {
	case e.Create && e.Remove:
		d.note(netns, e.Origin, "table %s changed: is dormant", place)
		return
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
		x := &e.Elements[i]
		noteElements(d, netns, x.Set.Origin, place+": "+x.Set.Word()+" "+x.Set.Name, "element", x.Add, x.Delete, x.Set.Words)
	}
	chains := func(n *Netns) map[string]*nft.Chain {
		for _, t := range n.NFT {
			if t.Family == e.Family && t.Name == e.Name {
				return ordered.Index(t.Chains, func(c *nft.Chain) string { return c.Name })
			}
		}
		return nil
	}
	have, want := chains(d.have[netns]), chains(d.want[netns])
	for i := range e.Chains {
		w := &e.Chains[i]
		h := have[w.Name]
		if h == nil {
			d.note(netns, Origin{}, "%s %s: chain missing", place, w.Name)
			h = &nft.Chain{}
		} else if h.IsBase() && h.Spec() != w.Spec() {
			d.note(netns, Origin{}, "%s %s: is %s want %s", place, w.Name, h.Spec(), w.Spec())
		}
		w = cmp.Or(want[w.Name], w)
		noteRules(d, netns, place+" "+w.Name, h.Rules, w.Rules, func(r *nft.Rule) (string, Origin) { return r.Words(), r.Origin })
	}
	for _, name := range e.DeleteChains {
		d.note(netns, Origin{}, "%s %s: chain not in the plan", place, name)
	}
}
