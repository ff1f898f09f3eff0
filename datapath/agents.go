package datapath

import (
	"slices"
	"sync"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/zone"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/dns"
)

// addAgents adds the listeners and commands of pods and clients. An agent does not know
// about readiness: a pod that is not ready answers every connection that reaches it.
func addAgents(lab *topology.Lab, netns map[string]*plan.Netns) {
	records := sync.OnceValue(func() []zone.Record { return dns.Records(lab) })
	routing := sync.OnceValue(func() []httproute.Route { return routes(lab) })
	for _, pod := range lab.Pods {
		n := netns[pod.Netns()]
		o := plan.Origin{Object: "pod " + pod.AgentName(), File: pod.Origin.File, Line: pod.Origin.Line}
		if len(pod.Ports) > 0 && len(pod.Command) == 0 {
			n.Agents = append(n.Agents, occupant.Agent{Name: pod.AgentName(), Node: pod.Node.Name, Listen: listen(pod.Ports), DNS: pod.NameServer, Ingress: controller(lab, pod), Origin: o})
		}
		if pod.NameServer {
			n.Records = slices.Clone(records())
		}
		if pod.Ingress {
			n.Routing = routing()
		}
		if r, ok := dns.Of(lab, pod); ok {
			n.Resolvers = append(n.Resolvers, occupant.Resolver{Pod: pod.AgentName(), Conf: r.Text(), Hosts: dns.Hosts(pod), Origin: o})
		}
		if len(pod.Command) > 0 {
			n.Execs = append(n.Execs, program(pod, o))
		} else if len(pod.Program.Files) > 0 {
			n.Files = append(n.Files, occupant.PodFiles{Pod: pod.AgentName(), Files: files(pod.Program), Origin: o})
		}
	}
	for _, c := range lab.Clients {
		if len(c.Ports) == 0 {
			continue
		}
		n := netns[c.Netns()]
		o := plan.Origin{Object: "client " + c.Name, File: c.Origin.File, Line: c.Origin.Line}
		n.Agents = append(n.Agents, occupant.Agent{Name: c.Name, Listen: listen(c.Ports), Origin: o})
	}
}

// program is the command of a pod.
func program(pod *topology.Pod, o plan.Origin) occupant.Exec {
	p := pod.Program
	x := occupant.Exec{Name: pod.AgentName(), Node: pod.Node.Name, Argv: pod.Command, Env: environment(pod.Env), Dir: p.WorkDir, Stdin: p.Stdin,
		Addrs: pod.Addrs, Listen: listen(pod.Ports), Ready: occupant.Ready(p.Ready), Restart: p.Restart, NetAdmin: p.NetAdmin, Origin: o}
	if p.Image != nil {
		x.Image = occupant.Image{Name: p.Image.Name, Path: p.Image.Path, Digest: p.Image.Digest}
	}
	x.Files = files(p)
	return x
}

// files are those of a program, or of a pod without one.
func files(p topology.Program) (list []occupant.File) {
	for _, f := range p.Files {
		list = append(list, occupant.File{Path: f.Path, Content: f.Content, Mode: f.Mode})
	}
	return list
}

func listen(ports []topology.Port) []occupant.Listen {
	list := make([]occupant.Listen, 0, len(ports))
	for _, p := range ports {
		list = append(list, occupant.Listen{Protocol: string(p.Protocol), Port: p.Number})
	}
	return list
}

func environment(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return list
}
