package main

import (
	"strings"

	"github.com/netlab/netlab/scenarios/language"
)

// sayLike says by which rules a lab is followed on paper whose agents make their own.
func (u ui) sayLike(s *language.Scenario) {
	var like []string
	if s.Lab.Proxy.Agent != nil {
		like = append(like, "proxy mode "+s.Lab.Proxy.Mode.Name)
	}
	if s.Lab.PolicyOptions.Agent != nil {
		like = append(like, "policy style "+s.Lab.PolicyOptions.Style.Name)
	}
	if len(like) > 0 {
		u.Say("agents make the rules of this lab; on paper it has those that they are measured by: %s", strings.Join(like, ", "))
	}
}
