package datapath

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// merge adds the output of a service backend or a policy style to a node. In a built-in
// chain, rules for services go before the node's, as kube-proxy inserts its own at the
// head, and rules for policies, which are merged last, before those; only what the node has
// ahead stays there. Their sysctls replace the node's.
func merge(n, services *plan.Netns) {
	n.Links = append(n.Links, services.Links...)
	n.Addrs = append(n.Addrs, services.Addrs...)
	n.Routes = append(n.Routes, services.Routes...)
	n.Sets = append(n.Sets, services.Sets...)
	n.NFT = append(n.NFT, services.NFT...)
	n.Virtual = append(n.Virtual, services.Virtual...)
	n.ProxyPorts = append(n.ProxyPorts, services.ProxyPorts...)
	for _, s := range services.Sysctls {
		setSysctl(n, s)
	}
	for _, t := range services.Tables {
		mergeTable(n, t)
	}
}

func setSysctl(n *plan.Netns, s plan.Sysctl) {
	for i := range n.Sysctls {
		if n.Sysctls[i].Key == s.Key {
			n.Sysctls[i] = s
			return
		}
	}
	n.Sysctls = append(n.Sysctls, s)
}

func mergeTable(n *plan.Netns, t iptables.Table) {
	for i := range n.Tables {
		if have := &n.Tables[i]; have.Name == t.Name && have.IPv6 == t.IPv6 {
			have.Chains = mergeChains(have.Chains, t.Chains)
			return
		}
	}
	n.Tables = append(n.Tables, t)
}

// mergeChains returns the service chains followed by the others; of a chain that
// both have, the rules of both.
func mergeChains(network, services []iptables.Chain) []iptables.Chain {
	index := make(map[string]int, len(services))
	for i := range services {
		index[services[i].Name] = i
	}
	for _, c := range network {
		if i, ok := index[c.Name]; ok {
			services[i].Join(c)
			continue
		}
		services = append(services, c)
	}
	return services
}
