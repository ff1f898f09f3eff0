package topology

import "slices"

// Agent is a command that runs in every node, in its network namespace and with a kubeconfig
// of the lab, and does there what rules of the plan would do otherwise.
type Agent struct {
	Mode     string              // the name of the mode or style that says so: exec
	Commands map[string][]string // by the names of nodes
	Env      map[string]string
	// Binary is a file of the machine that the agent finds at the path that its command begins with;
	// empty: it runs what programs of the scenario see.
	Binary  string
	Program Program
	Origin  Origin
}

// AgentSpec is what a proxy or policies block says of its agent.
type AgentSpec struct {
	// Like is the mode or style that the agent is expected to behave as.
	Like Opt[string]
	// Command is where it is written. The commands follow from it, one for each node.
	Command  Opt[bool]
	Commands map[string][]string
	Env      map[string]string
	EnvAt    Origin // of env
	Program  ProgramSpec
	// Idle says that it is meant for another variation of a matrix.
	Idle bool
}

// Kubeconfig is where an agent finds the file that leads to the API of the lab.
const Kubeconfig = "/kubeconfig"

// HasAgents reports whether agents of the scenario do the work of rules.
func (l *Lab) HasAgents() bool { return l.Proxy.Agent != nil || l.PolicyOptions.Agent != nil }

// WithoutAgents is the lab with rules in place of agents: those of the mode and the style that
// the agents are like. It is what they are measured by.
func (l *Lab) WithoutAgents() *Lab {
	if !l.HasAgents() {
		return l
	}
	twin := *l
	twin.Proxy.Agent, twin.PolicyOptions.Agent = nil, nil
	return &twin
}

// Agents are the agents of the lab, that of the proxy first.
func (l *Lab) Agents() (list []*Agent) {
	return slices.DeleteFunc([]*Agent{l.Proxy.Agent, l.PolicyOptions.Agent}, func(a *Agent) bool { return a == nil })
}
