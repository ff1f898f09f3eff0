package none

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Style is the policy style none.
func Style() policy.Style {
	return policy.Style{Compile: compile, PolicyStyle: topology.PolicyStyle{Name: "none", About: "no agent: policies are read, and nothing enforces them",
		Limits: "what a policy denies is connected all the same", Ignores: true}}
}

func compile(policy.View) (plan.Netns, error) { return plan.Netns{}, nil }
