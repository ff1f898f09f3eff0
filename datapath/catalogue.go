package datapath

import (
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/datapath/podnet/hostgw"
	"github.com/netlab/netlab/datapath/podnet/none"
	"github.com/netlab/netlab/datapath/podnet/vxlan"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/datapath/policy/calico"
	"github.com/netlab/netlab/datapath/policy/kuberouter"
	"github.com/netlab/netlab/datapath/policy/legacy"
	"github.com/netlab/netlab/datapath/policy/nftables"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/datapath/service/iptables"
	"github.com/netlab/netlab/datapath/service/ipvs"
	"github.com/netlab/netlab/topology"
)

// Modes returns the pod-network modes, the default first.
func Modes() []podnet.Mode {
	return []podnet.Mode{vxlan.Mode(), hostgw.Mode(), none.Mode()}
}

// Backends returns the service backends, the default first.
func Backends() []service.Backend {
	return []service.Backend{iptables.Backend(), ipvs.Backend()}
}

// Styles returns the styles of network policies, the default first.
func Styles() []policy.Style {
	return []policy.Style{kuberouter.Style(), calico.Style(), nftables.Style(), legacy.Style()}
}

// Planned names are part of the language, but not implemented yet.
func plannedModes() []string {
	return []string{"bridge", "udp", "routed", "ipip", "wireguard", "docker", "ipsec", "ebpf"}
}

func plannedBackends() []string { return []string{"nftables", "ebpf"} }

// NoProxy is the proxy mode without a backend: no node translates service addresses.
const NoProxy = "none"

// Catalogue is what a scenario can choose from: the names, and the facts stated in the
// folder of each.
func Catalogue() topology.Catalogue {
	c := topology.Catalogue{PlannedNetworks: plannedModes(), PlannedProxies: plannedBackends()}
	for _, m := range Modes() {
		c.Networks = append(c.Networks, m.NetworkMode)
	}
	for _, b := range Backends() {
		c.Proxies = append(c.Proxies, b.ProxyMode)
	}
	c.Proxies = append(c.Proxies, topology.ProxyMode{Name: NoProxy, About: "no proxy: no node translates service addresses"})
	for _, s := range Styles() {
		c.Styles = append(c.Styles, s.PolicyStyle)
	}
	return c
}
