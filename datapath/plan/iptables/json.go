package iptables

import (
	"encoding/json"

	"github.com/netlab/netlab/datapath/plan/origin"
)

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
