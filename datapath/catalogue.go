package datapath

import (
	"slices"

	"github.com/netlab/netlab/datapath/fault"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/datapath/podnet/bridge"
	"github.com/netlab/netlab/datapath/podnet/canal"
	"github.com/netlab/netlab/datapath/podnet/encrypted"
	"github.com/netlab/netlab/datapath/podnet/hostgw"
	"github.com/netlab/netlab/datapath/podnet/ipip"
	"github.com/netlab/netlab/datapath/podnet/ipsec"
	"github.com/netlab/netlab/datapath/podnet/none"
	"github.com/netlab/netlab/datapath/podnet/routed"
	"github.com/netlab/netlab/datapath/podnet/udp"
	"github.com/netlab/netlab/datapath/podnet/vxlan"
	"github.com/netlab/netlab/datapath/podnet/wireguard"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/datapath/policy/calico"
	"github.com/netlab/netlab/datapath/policy/kuberouter"
	"github.com/netlab/netlab/datapath/policy/legacy"
	"github.com/netlab/netlab/datapath/policy/nftables"
	nopolicies "github.com/netlab/netlab/datapath/policy/none"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/datapath/service/flat"
	"github.com/netlab/netlab/datapath/service/iptables"
	"github.com/netlab/netlab/datapath/service/ipvs"
	nftservices "github.com/netlab/netlab/datapath/service/nftables"
	"github.com/netlab/netlab/datapath/service/userspace"
	"github.com/netlab/netlab/topology"
)

// Modes returns the pod-network modes, the default first.
func Modes() []podnet.Mode {
	return []podnet.Mode{vxlan.Mode(), hostgw.Mode(), routed.Mode(), ipip.Mode(), canal.Mode(), udp.Mode(), encrypted.Mode(), wireguard.Mode(), ipsec.Mode(), bridge.Mode(), none.Mode()}
}

// ClusterModes returns the modes that can have services and policies.
func ClusterModes() []podnet.Mode {
	return slices.DeleteFunc(Modes(), func(m podnet.Mode) bool { return m.SharedCIDR })
}

// Backends returns the service backends, the default first.
func Backends() []service.Backend {
	return []service.Backend{iptables.Backend(), ipvs.Backend(), nftservices.Backend(flat.Layout()), userspace.Backend()}
}

// Styles returns the styles of network policies, the default first.
func Styles() []policy.Style {
	return []policy.Style{kuberouter.Style(), calico.Style(), nftables.Style(), legacy.Style(), nopolicies.Style()}
}

// Planned names are part of the language, but not implemented yet.
func plannedModes() []string {
	return []string{"ebpf"}
}

func plannedBackends() []string { return []string{"ebpf"} }

// NoProxy is the proxy mode without a backend: no node translates service addresses.
const NoProxy = "none"

// Exec is the proxy mode, and the policy style, in which an agent of the scenario does the work.
const Exec = "exec"

// Catalogue is what a scenario can choose from: the names, and the facts stated in the
// folder of each.
func Catalogue() topology.Catalogue {
	c := topology.Catalogue{PlannedNetworks: plannedModes(), PlannedProxies: plannedBackends(), Faults: fault.Kinds()}
	for _, m := range Modes() {
		c.Networks = append(c.Networks, m.NetworkMode)
	}
	for _, b := range Backends() {
		c.Proxies = append(c.Proxies, b.ProxyMode)
	}
	c.Proxies = append(c.Proxies, topology.ProxyMode{Name: NoProxy, About: "no proxy: no node translates service addresses"},
		topology.ProxyMode{Name: Exec, Exec: true, About: "a command of the scenario on every node, such as kube-proxy", Limits: "expected to do what the mode does that it is like"})
	for _, s := range Styles() {
		c.Styles = append(c.Styles, s.PolicyStyle)
	}
	c.Styles = append(c.Styles, topology.PolicyStyle{Name: Exec, Exec: true, About: "a command of the scenario on every node", Limits: "expected to do what the style does that it is like"})
	return c
}
