package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// Docker0 is the bridge of Docker's containers.
const Docker0 = "docker0"

// DockerChain is Docker's chain in nat and in filter, with the rules of published ports.
const DockerChain = "DOCKER"

// Docker's other chains. DOCKER-USER is empty, for the rules of the host's owner; the others
// keep networks of one host apart, of which there is one here.
const (
	dockerUser       = "DOCKER-USER"
	dockerIsolation1 = "DOCKER-ISOLATION-STAGE-1"
	dockerIsolation2 = "DOCKER-ISOLATION-STAGE-2"
)

// Docker is how the daemon of a host is set up, in what its rules depend on.
type Docker struct {
	Containers netip.Prefix // on its bridge
	// UserlandProxy says that a program of the host copies the streams of containers to published
	// ports of their own host, as by default.
	UserlandProxy bool
	// Forwarding says that the daemon found ip_forward switched off: it switches it on, and
	// closes FORWARD to all that no rule accepts. Otherwise it leaves the policy alone.
	Forwarding bool
	Origin     plan.Origin
}

func (d Docker) rule(target iptables.Target, matches ...iptables.Match) iptables.Rule {
	return iptables.Rule{Matches: matches, Target: target, Origin: d.Origin}
}

// NAT is the table nat without published ports, as dockerd of versions 20 to 26 writes it
// (moby, libnetwork/drivers/bridge/setup_ip_tables.go). Without the userland proxy the host's
// own processes reach containers by 127.0.0.1, too, and containers themselves by the host.
func (d Docker) NAT() iptables.Table {
	toLocal := iptables.AddrType{Dst: "LOCAL"}
	output := []iptables.Match{toLocal}
	postrouting := []iptables.Rule{d.rule(iptables.Masquerade{}, iptables.Src{Prefix: d.Containers}, iptables.OutIf{Name: Docker0, Not: true})}
	published := iptables.Chain{Name: DockerChain}
	if d.UserlandProxy {
		output = []iptables.Match{iptables.Dst{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Not: true}, toLocal}
		published.Rules = []iptables.Rule{d.rule(iptables.Return{}, iptables.InIf{Name: Docker0})}
	} else {
		postrouting = append([]iptables.Rule{d.rule(iptables.Masquerade{}, iptables.OutIf{Name: Docker0}, iptables.AddrType{Src: "LOCAL"})}, postrouting...)
	}
	jump := iptables.Jump{Chain: DockerChain}
	return iptables.Table{Name: "nat", Chains: []iptables.Chain{
		{Name: "PREROUTING", Policy: "ACCEPT", Rules: []iptables.Rule{d.rule(jump, toLocal)}},
		{Name: "OUTPUT", Policy: "ACCEPT", Rules: []iptables.Rule{d.rule(jump, output...)}},
		{Name: "POSTROUTING", Policy: "ACCEPT", Rules: postrouting},
		published,
	}}
}

// Filter is the table filter without published ports.
func (d Docker) Filter() iptables.Table {
	in, out := iptables.InIf{Name: Docker0}, iptables.OutIf{Name: Docker0}
	notOut := iptables.OutIf{Name: Docker0, Not: true}
	policy := "ACCEPT"
	if d.Forwarding {
		policy = "DROP"
	}
	return iptables.Table{Name: "filter", Chains: []iptables.Chain{
		{Name: "FORWARD", Policy: policy, Rules: []iptables.Rule{
			d.rule(iptables.Jump{Chain: dockerUser}),
			d.rule(iptables.Jump{Chain: dockerIsolation1}),
			d.rule(iptables.Accept{}, out, iptables.CTState{States: []string{"RELATED", "ESTABLISHED"}}),
			d.rule(iptables.Jump{Chain: DockerChain}, out),
			d.rule(iptables.Accept{}, in, notOut),
			d.rule(iptables.Accept{}, in, out),
		}},
		{Name: dockerUser, Rules: []iptables.Rule{d.rule(iptables.Return{})}},
		{Name: dockerIsolation1, Rules: []iptables.Rule{
			d.rule(iptables.Jump{Chain: dockerIsolation2}, in, notOut),
			d.rule(iptables.Return{}),
		}},
		{Name: dockerIsolation2, Rules: []iptables.Rule{
			d.rule(iptables.Drop{}, out),
			d.rule(iptables.Return{}),
		}},
		{Name: DockerChain},
	}}
}

// dockerBeside gives a node Docker beside its pod network, as where Docker runs the containers
// of pods, or was there before: docker0 without a port, which therefore has no carrier, and the
// rules of a daemon with the defaults. None of them is about pods. What the node sends from
// the bridge's address to anywhere else, such as to a node port on that address, is
// masqueraded. FORWARD stays open, since nodes forward before the daemon starts, as Kubernetes
// asks of them; where dockerd has to switch that on itself, it closes FORWARD as the fault
// closed-forward does, which is why flannel and kube-proxy accept by rules of their own what
// is for pods (kubernetes issue 40182).
func dockerBeside(out *plan.Netns, lab *topology.Lab, n *topology.Node) {
	d := Docker{Containers: lab.Network.DockerNet(false), UserlandProxy: true, Origin: NodeOrigin(n)}
	Bridge{Docker0, lab.Network.PathMTU}.link(out, []netip.Prefix{d.Containers}, d.Origin)
	out.Sysctls = append(out.Sysctls, plan.Sysctl{Key: "net.ipv4.conf." + Docker0 + ".rp_filter", Value: "0"})
	join(out, d.NAT())
	join(out, d.Filter())
}
