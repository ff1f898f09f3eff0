//go:build linux

package kernel

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"

	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan"
)

// needIPVS makes sure that the settings of IPVS are there before they are written:
// every namespace has them from the moment on at which the kernel has IPVS.
func (w *work) needIPVS(n *plan.Netns) error {
	if len(n.Virtual) == 0 && !slices.ContainsFunc(n.Sysctls, plan.Sysctl.OfIPVS) {
		return nil
	}
	_, err := loadIPVS()
	return err
}

// growSets makes sets and adds members, before rules ask for them. The calling thread
// is in the namespace.
func (w *work) growSets(s *space, e *plan.Edit) error {
	if len(e.Change.Sets) > 0 {
		if err := w.replaceSets(s, e); err != nil {
			return err
		}
	}
	var sets setWork
	sets.create(e.Add.Sets)
	for i := range e.Sets {
		x := &e.Sets[i]
		sets.members(nl.IPSET_CMD_ADD, x.Type, x.Name, x.Add)
	}
	s.sets = s.sets || len(sets.msgs) > 0
	return sets.send(w.k)
}

// replaceSets makes sets anew whose type or family changes. The kernel neither swaps
// sets of different types nor gives up one that a rule asks: the chains that do are
// empty for a moment, and loaded whole with the others.
func (w *work) replaceSets(s *space, e *plan.Edit) error {
	asking := chainsAsking(w.k.applied, e.Netns, e.Change.Sets)
	for _, ipv6 := range []bool{false, true} {
		for _, text := range plan.RestoreChunks(asking, ipv6, bufferLimit()) {
			if err := restore(w.rules.ctx, s.ns, restoration{ipv6: ipv6, spare: true, text: text}); err != nil {
				return err
			}
		}
	}
	for _, t := range asking {
		for i := range t.Set {
			w.reload(e, t, t.Set[i].Name)
		}
	}
	var sets setWork
	sets.destroy(e.Change.Sets)
	sets.create(e.Change.Sets)
	return sets.send(w.k)
}

// chainsAsking are the chains of a namespace whose rules ask one of the sets, without
// their rules.
func chainsAsking(p *plan.Plan, netns string, sets []plan.Set) []plan.TableEdit {
	asks := func(r plan.Rule) bool {
		return slices.ContainsFunc(r.Matches, func(m plan.Match) bool {
			asked, ok := m.(plan.MatchSet)
			return ok && slices.ContainsFunc(sets, func(s plan.Set) bool { return s.Name == asked.Set })
		})
	}
	var edits []plan.TableEdit
	for _, t := range tablesOf(p, netns) {
		e := plan.TableEdit{IPv6: t.IPv6, Name: t.Name}
		for _, c := range t.Chains {
			if slices.ContainsFunc(c.Rules, asks) {
				e.Set = append(e.Set, plan.Chain{Name: c.Name, Policy: c.Policy})
			}
		}
		if len(e.Set) > 0 {
			edits = append(edits, e)
		}
	}
	return edits
}

// reload adds a chain to an edit as the plan wants it, unless the edit has it already.
func (w *work) reload(e *plan.Edit, t plan.TableEdit, chain string) {
	i := slices.IndexFunc(e.Tables, func(x plan.TableEdit) bool { return x.IPv6 == t.IPv6 && x.Name == t.Name })
	if i < 0 {
		e.Tables = append(e.Tables, plan.TableEdit{IPv6: t.IPv6, Name: t.Name})
		i = len(e.Tables) - 1
	}
	named := func(c plan.Chain) bool { return c.Name == chain }
	if slices.ContainsFunc(e.Tables[i].Set, named) {
		return
	}
	for _, want := range tablesOf(w.plan, e.Netns) {
		if j := slices.IndexFunc(want.Chains, named); j >= 0 && want.IPv6 == t.IPv6 && want.Name == t.Name {
			e.Tables[i].Set = append(e.Tables[i].Set[:len(e.Tables[i].Set):len(e.Tables[i].Set)], want.Chains[j])
		}
	}
}

func tablesOf(p *plan.Plan, netns string) []plan.Table {
	for i := range p.Netns {
		if p.Netns[i].Name == netns {
			return p.Netns[i].Tables
		}
	}
	return nil
}

// settle finishes the edits once all rules are loaded: what no rule asks for any more
// goes, virtual servers change, and connections that are no longer wanted are ended.
func (w *work) settle(h netns.Here, edits []plan.Edit) error {
	for i := range edits {
		e := &edits[i]
		s := w.k.spaces[e.Netns]
		var sets setWork
		for i := range e.Sets {
			x := &e.Sets[i]
			sets.members(nl.IPSET_CMD_DEL, x.Type, x.Name, x.Delete)
		}
		sets.destroy(e.Delete.Sets)
		virtual := len(e.Add.Virtual) + len(e.Virtual) + len(e.Delete.Virtual)
		if len(sets.msgs)+virtual+len(e.UDP)+len(e.Cut) == 0 {
			continue
		}
		if err := h.Enter(s.ns); err != nil {
			return err
		}
		if err := sets.send(w.k); err != nil {
			return fmt.Errorf("%s: %w", e.Netns, err)
		}
		s.virtual = s.virtual || virtual > 0
		if err := s.editVirtual(e, w.k.memory); err != nil {
			return fmt.Errorf("%s: %w", e.Netns, err)
		}
		if err := forgetStale(e.UDP, e.Cut); err != nil {
			return fmt.Errorf("%s: %w", e.Netns, err)
		}
	}
	return nil
}
