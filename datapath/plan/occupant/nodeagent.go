package occupant

import "strings"

// AgentName is the name of a program that does the work of the proxy or of the policies on a
// node. No pod has such a name.
func AgentName(of, node string) string { return of + "@" + node }

// OnNode reports whether a program of a name is an agent on a node.
func OnNode(name, node string) bool { return strings.HasSuffix(name, "@"+node) }

// IsAgent reports whether a program of a name is an agent.
func IsAgent(name string) bool { return strings.Contains(name, "@") }

// Called is a program by its name, for a sentence: the program of pod web-0.
func Called(name string) string {
	if of, node, agent := strings.Cut(name, "@"); agent {
		return "the agent for " + of + " on node " + node
	}
	return "the program of pod " + name
}
