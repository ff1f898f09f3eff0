package iptables

import (
	"encoding/json"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// Create returns the edits that create whole tables.
func Create(tables []Table) []Edit {
	edits := make([]Edit, 0, len(tables))
	for _, t := range tables {
		edits = append(edits, Edit{IPv6: t.IPv6, Name: t.Name, Set: t.Chains})
	}
	return edits
}

// RestoreText returns the input of one "iptables-restore --noflush" (or
// ip6tables-restore) that carries out the edits of one IP family: chains in Set hold
// exactly their rules afterwards, chains in Delete are gone, all others are unchanged.
// Each table is replaced in one step by the kernel. It is empty when no edit is for
// that family.
//
// In a new namespace the same text has the same effect without --noflush, and faster:
// with it, iptables-nft 1.8.9 looks up every chain in a list, which takes ten seconds
// more for 50,000 chains. Inside a user namespace its messages are limited: see Chunks.
//
// Running it again changes nothing. A chain that is deleted must not be jumped to
// from a chain outside the edit.
func RestoreText(edits []Edit, ipv6 bool) string {
	const ruleBytes = 128 // roughly; growing the buffer costs more than writing it
	size := 0
	for _, e := range edits {
		for _, c := range e.Set {
			size += (len(c.Rules) + 2) * ruleBytes
		}
	}
	return string(AppendEdits(make([]byte, 0, size), edits, ipv6, false))
}

// AppendEdits appends what RestoreText returns; annotate adds comments that name the
// objects that the rules serve.
func AppendEdits(b []byte, edits []Edit, ipv6, annotate bool) []byte {
	for i := range edits {
		if edits[i].IPv6 == ipv6 {
			b = edits[i].appendRestore(b, annotate)
		}
	}
	return b
}

// appendRestore writes the edit of one table. With --noflush, declaring a user-defined
// chain creates or flushes it, but a built-in chain keeps its rules and has to be
// flushed by name. Chains to delete are declared as well: a chain must be empty to be
// deleted, and then one that is already missing is not an error.
func (e *Edit) appendRestore(b []byte, annotate bool) []byte {
	b = append(append(append(b, '*'), e.Name...), '\n')
	for i := range e.Set {
		b = appendDeclaration(b, e.Set[i].Name, e.Set[i].Policy)
	}
	for _, name := range e.Delete {
		b = appendDeclaration(b, name, "")
	}
	for i := range e.Set {
		if e.Set[i].Policy != "" {
			b = append(append(append(b, "-F "...), e.Set[i].Name...), '\n')
		}
	}
	var last origin.Ref
	for i := range e.Set {
		c := &e.Set[i]
		for j := range c.Rules {
			if r := &c.Rules[j]; annotate && r.Origin != last {
				last = r.Origin
				b = r.Origin.AppendComment(b)
			}
			b = append(c.Rules[j].appendRestore(b, c.Name), '\n')
		}
	}
	for _, name := range e.Delete {
		b = append(append(append(b, "-X "...), name...), '\n')
	}
	return append(b, "COMMIT\n"...)
}

func appendDeclaration(b []byte, name, policy string) []byte {
	if policy == "" {
		policy = "-"
	}
	b = append(append(b, ':'), name...)
	b = append(append(b, ' '), policy...)
	return append(b, " [0:0]\n"...)
}

// MarshalJSON returns the table with its rules as input for iptables-restore.
func (t *Table) MarshalJSON() ([]byte, error) {
	type rule struct {
		Rule   string     `json:"rule"`
		Origin origin.Ref `json:"origin,omitzero"`
	}
	type chain struct {
		Name   string `json:"name"`
		Policy string `json:"policy,omitempty"`
		Rules  []rule `json:"rules,omitempty"`
	}
	out := struct {
		Name   string  `json:"name"`
		Family string  `json:"family"`
		Chains []chain `json:"chains"`
	}{t.Name, "ip", make([]chain, 0, len(t.Chains))}
	if t.IPv6 {
		out.Family = "ip6"
	}
	for _, c := range t.Chains {
		x := chain{Name: c.Name, Policy: c.Policy}
		for _, r := range c.Rules {
			x.Rules = append(x.Rules, rule{r.Restore(c.Name), r.Origin})
		}
		out.Chains = append(out.Chains, x)
	}
	return json.Marshal(out)
}
