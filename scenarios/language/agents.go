package language

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// agentAttributes are what a proxy or policies block says of the agent that does its work.
func (l *loader) agentAttributes(s *topology.AgentSpec, attribute, exec, does, like string, known []string) []blocks.Attribute {
	return []blocks.Attribute{
		{At: l.agentCommand(s), Name: "command", Means: "With " + attribute + " = \"" + exec + "\", the program that runs in every node and " + does + ", in which node is the node that it runs on, as in ${node.name}, and ${kubeconfig} the path of a file that leads to the Kubernetes API of the lab."},
		{At: &s.Like, Name: "like", Default: like, Means: "The " + attribute + " that the agent is to be measured by: expectations are predicted from its rules, " + strings.Join(known, ", ") + "."},
		{At: l.env(&s.Env, &s.EnvAt), Name: "env", Means: "Environment variables of the command, besides NODE_NAME and KUBECONFIG."},
		{At: &s.Program.Restart, Name: "restart", Default: `"never"`, Means: "What happens when the command ends: it starts again (always), or that is an error (never)."},
	}
}

// agentCommand reads the command of an agent, once for each node: in it, node is that node.
func (l *loader) agentCommand(s *topology.AgentSpec) blocks.Value {
	return blocks.Value{Type: "list of strings", Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		s.Command = blocks.Written(true, a)
		l.then(func() {
			s.Commands = map[string][]string{}
			nodes := l.values("node")
			for _, n := range l.lab().Nodes {
				here := sc.With(blocks.Scope{"node": nodes[instance{n.Written.Block, n.Written.Key}], "kubeconfig": cty.StringVal(topology.Kubeconfig)})
				v, ok := l.Eval(a.Expr, here)
				if ok && v.IsNull() {
					s.Command = topology.Opt[bool]{} // as if it were not there
				}
				if !ok || v.IsNull() {
					return
				}
				list := l.Strings(a, here)
				if list == nil && !(blocks.IsList(v) && v.LengthInt() == 0) {
					return // reported
				}
				if len(list) == 0 || list[0] == "" {
					l.Errorf(a.Expr.Range(), "Empty command", "The program of a command is empty. Write command = [\"kube-proxy\"].")
					return
				}
				s.Commands[n.Name] = list
			}
		})
	}}
}
