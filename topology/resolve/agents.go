package resolve

import (
	"maps"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// agents resolves the commands that do the work of the proxy mode and of the policy style.
func (r *resolver) agents() {
	p, o := &r.Spec.Proxy, &r.Spec.PolicyOptions
	r.agent(r.Lab.Proxy.Agent, &p.Agent, p.Origin, "proxy", "mode", topology.First(r.Catalogue.Proxies, func(m topology.ProxyMode) bool { return m.Exec }).Name)
	r.agent(r.Lab.PolicyOptions.Agent, &o.Agent, o.Origin, "policies", "style", topology.First(r.Catalogue.Styles, func(s topology.PolicyStyle) bool { return s.Exec }).Name)
}

// agent resolves an agent; nil: none does the work, and nothing may be said of one.
func (r *resolver) agent(a *topology.Agent, s *topology.AgentSpec, block topology.Origin, kind, attribute, exec string) {
	switch {
	case a == nil:
		if !s.Idle {
			r.unused(s, kind, attribute, exec)
		}
		return
	case !s.Command.Set:
		r.Errorf(draft.At(block), "No command", "In %s %s a command on every node does the work, and the %s block has none. Add command = [\"…\"].", attribute, exec, kind)
		return
	}
	a.Commands, a.Env, a.Origin = s.Commands, maps.Clone(s.Env), s.Command.Origin
	// What a program is checked by, it shares with those of pods.
	a.Program = r.program(&topology.Pod{Command: []string{kind}}, topology.PodSpec{Program: s.Program})
}

// unused reports what is said of an agent that does not run.
func (r *resolver) unused(s *topology.AgentSpec, kind, attribute, exec string) {
	written := []struct {
		name string
		at   topology.Origin
	}{{"command", s.Command.Origin}, {"like", s.Like.Origin}, {"env", s.EnvAt}, {"restart", s.Program.Restart.Origin}, {"the ready block", s.Program.Ready.Origin}}
	for _, f := range s.Program.Files {
		written = append(written, struct {
			name string
			at   topology.Origin
		}{"the file block", f.Origin})
	}
	for _, w := range written {
		if w.at != (topology.Origin{}) {
			r.Errorf(draft.At(w.at), "Agent of another "+attribute, "No command of the %s block runs, so %s has no effect. Write %s = %q, or remove it.", kind, w.name, attribute, exec)
			return
		}
	}
}
