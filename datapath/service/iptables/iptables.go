package iptables

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// largeCluster is the number of endpoints above which their rules have no comments
// (largeClusterEndpointsThreshold in kubernetes pkg/proxy/iptables).
const largeCluster = 1000

// Backend is the proxy mode iptables.
type Backend struct{}

var _ service.Backend = Backend{}

// Name is iptables.
func (Backend) Name() string { return "iptables" }

// Facts says that rules translate, and that what they cannot translate back is dropped.
func (Backend) Facts() topology.ProxyFacts {
	return topology.ProxyFacts{
		About:      "chains of the table nat, a rule per endpoint",
		Limits:     "the time to program grows with the number of services",
		Translates: true, LoopbackNodePorts: true, DropsInvalid: true, Layouts: true,
	}
}

// Compile returns the tables nat, filter and mangle of each IP family.
func (Backend) Compile(v service.View) (plan.Netns, error) {
	var out plan.Netns
	for _, cidr := range v.Lab.Network.PodCIDRs {
		c := newCompiler(v, cidr)
		c.hooks()
		c.static()
		for i := range v.Ports {
			if p := &v.Ports[i]; p.ClusterIP.Is6() == c.ipv6 {
				c.servicePort(p)
			}
		}
		c.nodePortHook()
		out.Tables = append(out.Tables, c.nat.table(), c.filter.table(), c.mangle.table())
		out.Sysctls = append(out.Sysctls, c.sysctls()...)
	}
	return out, nil
}

// compiler gathers the rules of one node and one IP family.
type compiler struct {
	view                service.View
	ipv6                bool
	legacy              bool         // the layout of older versions
	large               bool         // too many endpoints for comments
	local               netip.Prefix // sources that are pods; invalid: local traffic is not detected
	nodeIP              netip.Addr   // the node's address on the underlay; invalid: none of this family
	proxy               plan.Origin
	nat, filter, mangle *tableBuilder
}

func newCompiler(v service.View, podCIDR netip.Prefix) *compiler {
	ipv6 := podCIDR.Addr().Is6()
	c := &compiler{
		view: v, ipv6: ipv6, legacy: v.Lab.Proxy.Layout == topology.LayoutLegacy,
		proxy:  plan.Origin{Object: "proxy", File: v.Lab.Proxy.Origin.File, Line: v.Lab.Proxy.Origin.Line},
		filter: newTable("filter", ipv6, 0),
		mangle: newTable("mangle", ipv6, 0),
	}
	if v.Lab.Proxy.DetectLocal != topology.DetectNone {
		c.local = podCIDR
	}
	if v.Node != nil {
		for _, a := range v.Node.Addrs {
			if a.Is6() == ipv6 && !c.nodeIP.IsValid() {
				c.nodeIP = a
			}
		}
	}
	known := 0
	for i := range v.Ports {
		if p := &v.Ports[i]; p.ClusterIP.Is6() == ipv6 {
			known += p.Known
		}
	}
	c.large = known > largeCluster
	c.nat = newTable("nat", ipv6, known+len(v.Ports))
	return c
}

// localNodePorts reports whether node ports answer on the loopback address. In IPv6
// they never do, and with node port addresses only where those contain it.
func (c *compiler) localNodePorts() bool {
	if c.ipv6 || !c.view.Lab.Proxy.LocalNodePorts {
		return false
	}
	cidrs, all := c.nodePortCIDRs()
	return all || slices.ContainsFunc(cidrs, loopback4.Overlaps)
}

// sysctls lets packets to 127.0.0.1 leave lo, for node ports on that address.
func (c *compiler) sysctls() []plan.Sysctl {
	if !c.localNodePorts() {
		return nil
	}
	return []plan.Sysctl{{Key: "net.ipv4.conf.all.route_localnet", Value: "1"}}
}

// tableBuilder gathers the chains of a table. Built-in chains are made by hooks.
type tableBuilder struct {
	t     iptables.Table
	index map[string]int
}

// newTable returns an empty table with room for a number of chains.
func newTable(name string, ipv6 bool, chains int) *tableBuilder {
	return &tableBuilder{t: iptables.Table{Name: name, IPv6: ipv6, Chains: make([]iptables.Chain, 0, chains)}, index: make(map[string]int, chains)}
}

func (b *tableBuilder) table() iptables.Table { return b.t }

// chain makes sure that a user-defined chain is there.
func (b *tableBuilder) chain(name string) { b.ensure(name, "") }

// builtin makes sure that a built-in chain is there.
func (b *tableBuilder) builtin(name string) { b.ensure(name, "ACCEPT") }

func (b *tableBuilder) ensure(name, policy string) *iptables.Chain {
	i, ok := b.index[name]
	if !ok {
		i = len(b.t.Chains)
		b.index[name] = i
		b.t.Chains = append(b.t.Chains, iptables.Chain{Name: name, Policy: policy})
	}
	return &b.t.Chains[i]
}

// add appends a rule to a chain, making it where it is missing.
func (b *tableBuilder) add(chain string, o plan.Origin, target iptables.Target, matches ...iptables.Match) {
	c := b.ensure(chain, "")
	c.Rules = append(c.Rules, iptables.Rule{Matches: matches, Target: target, Origin: o})
}
