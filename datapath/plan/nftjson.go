package plan

// Tables of nf_tables, as JSON.
type (
	jsonNFT struct {
		Family string         `json:"family"`
		Name   string         `json:"name"`
		Sets   []jsonNFTSet   `json:"sets,omitempty"`
		Chains []jsonNFTChain `json:"chains,omitempty"`
		Origin string         `json:"origin,omitempty"`
	}
	jsonNFTSet struct {
		Name     string   `json:"name"`
		Spec     string   `json:"spec"` // type ipv4_addr : verdict; flags interval
		Elements []string `json:"elements"`
		Origin   string   `json:"origin,omitempty"`
	}
	jsonNFTChain struct {
		Name     string     `json:"name"`
		Type     string     `json:"type,omitempty"` // of a base chain, like the next three
		Hook     string     `json:"hook,omitempty"`
		Priority *int       `json:"priority,omitempty"`
		Policy   string     `json:"policy,omitempty"`
		Rules    []jsonRule `json:"rules,omitempty"`
	}
)

func (t *NFTTable) json() jsonNFT {
	out := jsonNFT{Family: t.Family, Name: t.Name, Origin: t.Origin.String()}
	for i := range t.Sets {
		s := &t.Sets[i]
		set := jsonNFTSet{Name: s.Name, Spec: s.Spec(), Elements: make([]string, 0, len(s.Elements)), Origin: s.Origin.String()}
		for j := range s.Elements {
			set.Elements = append(set.Elements, s.Words(&s.Elements[j]))
		}
		out.Sets = append(out.Sets, set)
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		chain := jsonNFTChain{Name: c.Name, Type: c.Type, Hook: c.Hook, Policy: c.Policy}
		if c.IsBase() {
			chain.Priority = &c.Priority
		}
		for j := range c.Rules {
			chain.Rules = append(chain.Rules, jsonRule{c.Rules[j].Words(), c.Rules[j].Origin.String()})
		}
		out.Chains = append(out.Chains, chain)
	}
	return out
}
