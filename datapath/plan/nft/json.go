package nft

import (
	"encoding/json"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// MarshalJSON returns the set in nft's words.
func (s *Set) MarshalJSON() ([]byte, error) {
	elements := make([]string, 0, len(s.Elements))
	for i := range s.Elements {
		elements = append(elements, s.Words(&s.Elements[i]))
	}
	return json.Marshal(struct {
		Name     string     `json:"name"`
		Spec     string     `json:"spec"` // type ipv4_addr : verdict; flags interval
		Elements []string   `json:"elements"`
		Origin   origin.Ref `json:"origin,omitzero"`
	}{s.Name, s.Spec(), elements, s.Origin})
}

// MarshalJSON returns the chain; only a base chain has a priority.
func (c *Chain) MarshalJSON() ([]byte, error) {
	out := struct {
		Name     string `json:"name"`
		Type     string `json:"type,omitempty"`
		Hook     string `json:"hook,omitempty"`
		Priority *int   `json:"priority,omitempty"`
		Policy   string `json:"policy,omitempty"`
		Rules    []Rule `json:"rules,omitempty"`
	}{c.Name, c.Type, c.Hook, nil, c.Policy, c.Rules}
	if c.IsBase() {
		out.Priority = &c.Priority
	}
	return json.Marshal(out)
}

// MarshalJSON returns the rule in nft's words.
func (r *Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Rule   string     `json:"rule"`
		Origin origin.Ref `json:"origin,omitzero"`
	}{r.Words(), r.Origin})
}
