package datapath

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/dns"
)

const (
	untracked = "NodeLocal DNS Cache: skip conntrack"
	allowed   = "NodeLocal DNS Cache: allow DNS traffic"
)

// addNodeLocalDNS gives every node a name server of its own, at an address that is the same on
// all, as the addon NodeLocal DNSCache does. The address is local by a route, where the addon has
// a device nodelocaldns (dummy, which needs a module). The server is a cache that is always warm:
// it has all names of the lab, and asks nobody.
func addNodeLocalDNS(lab *topology.Lab, netns map[string]*plan.Netns) {
	if lab.DNS == nil || !lab.DNS.NodeLocal.IsValid() {
		return
	}
	at := lab.DNS.NodeLocal
	records := dns.Records(lab)
	o := plan.Origin{Object: "dns", File: lab.DNS.Origin.File, Line: lab.DNS.Origin.Line}
	for _, node := range lab.Nodes {
		n := netns[node.Netns()]
		merge(n, &plan.Netns{
			Routes: []plan.Route{{To: topology.Single(at), Dev: "lo", Local: true, Origin: o}},
			Tables: nodeLocalRules(at, o),
		})
		n.Records = slices.Clone(records)
		n.Agents = append(n.Agents, occupant.Agent{Name: lab.DNS.OnNode(node), Node: node.Name, At: at, DNS: true, Origin: o,
			Listen: []occupant.Listen{{Protocol: string(topology.UDP), Port: topology.DNSPort}, {Protocol: string(topology.TCP), Port: topology.DNSPort}}})
	}
}

// nodeLocalRules are those that node-cache writes (initIptables in kubernetes/dns,
// cmd/node-cache/app/cache_app.go), each before those that are there: what pods and the node ask
// and are told is not tracked, and what is not tracked is accepted.
func nodeLocalRules(at netip.Addr, o plan.Origin) []iptables.Table {
	raw, filter := iptables.NewBuilder("raw", at.Is6(), 2), iptables.NewBuilder("filter", at.Is6(), 2)
	to, from := iptables.Dst{Prefix: topology.Single(at)}, iptables.Src{Prefix: topology.Single(at)}
	asked, told := iptables.DPort{Port: topology.DNSPort}, iptables.SPort{Port: topology.DNSPort}
	for _, x := range []struct {
		table      *iptables.Builder
		chain      string
		host, port iptables.Match
		why        string
		target     iptables.Target
	}{
		{&raw, "PREROUTING", to, asked, untracked, iptables.NoTrack{}},
		{&raw, "OUTPUT", to, asked, untracked, iptables.NoTrack{}},
		{&raw, "OUTPUT", from, told, untracked, iptables.NoTrack{}},
		{&filter, "INPUT", to, asked, allowed, iptables.Accept{}},
		{&filter, "OUTPUT", from, told, allowed, iptables.Accept{}},
	} {
		x.table.Ensure(x.chain, "ACCEPT")
		for _, proto := range []topology.Protocol{topology.UDP, topology.TCP} {
			x.table.Add(x.chain, o, x.target, x.host, iptables.Proto{Name: string(proto)}, x.port, iptables.Comment{Text: x.why})
		}
	}
	return []iptables.Table{raw.Table, filter.Table}
}
