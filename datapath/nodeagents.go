package datapath

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/topology"
)

// addNodeAgents adds the commands on nodes that do the work of the proxy and of the policy style.
// A node with one belongs to a user namespace of its own, so that its agent may change it and
// nothing else.
func addNodeAgents(lab *topology.Lab, netns map[string]*plan.Netns) {
	for _, a := range []struct {
		name  string
		agent *topology.Agent
	}{{"proxy", lab.Proxy.Agent}, {"policies", lab.PolicyOptions.Agent}} {
		if a.agent == nil {
			continue
		}
		for _, node := range lab.Nodes {
			n := netns[node.Netns()]
			n.Execs = append(n.Execs, nodeAgent(lab, node, a.name, a.agent))
			// The agent of the proxy decides whether node ports answer on loopback.
			n.Sysctls = slices.DeleteFunc(n.Sysctls, func(s plan.Sysctl) bool { return a.agent == lab.Proxy.Agent && s.Key == routeLocalnet })
		}
	}
}

func nodeAgent(lab *topology.Lab, node *topology.Node, name string, a *topology.Agent) occupant.Exec {
	x := occupant.Exec{Name: occupant.AgentName(name, node.Name), Node: node.Name, Argv: a.Commands[node.Name], Ready: occupant.Ready(a.Program.Ready), Restart: a.Program.Restart,
		Addrs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, NetAdmin: true, Agent: true,
		Origin: plan.Origin{Object: name, File: a.Origin.File, Line: a.Origin.Line}}
	env := map[string]string{"KUBECONFIG": topology.Kubeconfig, "NODE_NAME": node.Name}
	for k, v := range a.Env {
		env[k] = v
	}
	x.Env = environment(env)
	x.Files = append(files(a.Program), occupant.File{Path: topology.Kubeconfig, Content: occupant.KubeconfigInside(lab.Name), Mode: 0o644})
	if a.Binary != "" {
		x.Files = append(x.Files, occupant.File{Path: x.Argv[0], Of: a.Binary, Mode: 0o755})
	}
	if path.Base(x.Argv[0]) == kubeProxy {
		x.Argv = append(append([]string{x.Argv[0]}, kubeProxyFlags(lab, node)...), x.Argv[1:]...)
		if r := a.Program.Ready; r.TCP == 0 && r.HTTP == "" && len(r.Exec) == 0 {
			x.Ready.HTTP, x.Ready.Port, x.Ready.Families = "/healthz", healthz, families(lab)
		}
	}
	return x
}

const (
	routeLocalnet = "net.ipv4.conf.all.route_localnet"
	// kubeProxy is the program that netlab knows the flags of.
	kubeProxy = "kube-proxy"
	// healthz is its port for health checks (--healthz-bind-address).
	healthz = 10256
)

// kubeProxyFlags are those without which kube-proxy cannot run in a lab, and those that follow
// from the proxy block (cmd/kube-proxy/app/options.go). Whoever writes the command can repeat
// them with other values: the last ones count.
func kubeProxyFlags(lab *topology.Lab, node *topology.Node) []string {
	p := &lab.Proxy
	flags := []string{"--kubeconfig=" + topology.Kubeconfig, "--hostname-override=" + node.Name, "--proxy-mode=" + p.Mode.Name,
		// A lab may not change what the machine has once for all network namespaces.
		"--conntrack-max-per-core=0", "--conntrack-min=0", "--oom-score-adj=1000"}
	if p.DetectLocal != topology.DetectNone {
		flags = append(flags, "--detect-local-mode=ClusterCIDR", "--cluster-cidr="+join(lab.Network.PodCIDRs))
	}
	if p.MasqueradeAll {
		flags = append(flags, "--masquerade-all")
	}
	if len(p.NodePortAddresses) > 0 {
		flags = append(flags, "--nodeport-addresses="+join(p.NodePortAddresses))
	}
	if p.Mode.LoopbackNodePorts && !p.LocalNodePorts {
		flags = append(flags, "--iptables-localhost-nodeports=false")
	}
	if p.Mode.VirtualServers {
		flags = append(flags, "--ipvs-scheduler="+p.IPVS.Scheduler)
		if p.IPVS.StrictARP {
			flags = append(flags, "--ipvs-strict-arp")
		}
	}
	return flags
}

// families are those of the services, as kube-proxy names them.
func families(lab *topology.Lab) (list []string) {
	for _, p := range lab.Network.ServiceCIDRs {
		list = append(list, map[bool]string{false: "IPv4", true: "IPv6"}[p.Addr().Is6()])
	}
	return list
}

func join(list []netip.Prefix) string {
	words := make([]string, 0, len(list))
	for _, p := range list {
		words = append(words, p.String())
	}
	return strings.Join(words, ",")
}

// agentsNeed notes with each agent what the rules need of a kernel that it is measured by.
func agentsNeed(lab *topology.Lab, p *plan.Plan) error {
	if !lab.HasAgents() {
		return nil
	}
	twin, err := Compile(lab.WithoutAgents())
	if err != nil {
		return err
	}
	var needs []string
	have := plan.Requires(p)
	for _, f := range plan.Requires(twin) {
		if !slices.Contains(have, f) {
			needs = append(needs, string(f))
		}
	}
	for i := range p.Netns {
		for k := range p.Netns[i].Execs {
			if x := &p.Netns[i].Execs[k]; x.Agent {
				x.Needs = needs
			}
		}
	}
	return nil
}

// KubeProxyLacks says why kube-proxy cannot do the work of the proxy in a lab; empty: it can.
func KubeProxyLacks(lab *topology.Lab) string {
	if !lab.Proxy.Mode.Translates || lab.Proxy.Mode.UserSpace {
		return kubeProxy + " has no proxy mode " + lab.Proxy.Mode.Name
	}
	for _, p := range lab.Pods {
		if p.HostNetwork && slices.ContainsFunc(p.Ports, func(x topology.Port) bool {
			return x.Protocol == topology.TCP && x.Number == occupant.APIAddress.Port()
		}) {
			return fmt.Sprintf("pod %s has port %d of its node, where %s would find the Kubernetes API", p.Name, occupant.APIAddress.Port(), kubeProxy)
		}
	}
	return ""
}

// UseKubeProxy gives a lab the kube-proxy of this machine. Its rules are laid out as they are today,
// whatever the lab says, and so are those that it is measured by.
func UseKubeProxy(lab *topology.Lab, binary string) {
	if list := lab.Proxy.Mode.LayoutNames(); len(list) > 0 {
		lab.Proxy.Layout = list[0]
	}
	lab.Proxy.Agent = realAgent(lab, binary)
}

// realAgent is an agent of the machine's own.
func realAgent(lab *topology.Lab, binary string) *topology.Agent {
	a := &topology.Agent{Mode: Exec, Commands: map[string][]string{}, Binary: binary, Program: topology.Program{Ready: topology.Ready{Within: realWithin}}, Origin: lab.Proxy.Origin}
	for _, n := range lab.Nodes {
		a.Commands[n.Name] = []string{"/" + kubeProxy}
	}
	return a
}

// realWithin is how long such an agent may take to become ready.
const realWithin = 60 * time.Second
