package podnet

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
)

// router returns a router: a host with a link per subnet, which forwards between them. It
// knows the subnets and nothing of pods, unless it learns of them by BGP: what it has no route to it sends to the outside,
// where it is lost. Without a default route it would answer, but the kernel answers five
// packets per source, and then one a second (ip_error in net/ipv4/route.c), for the whole
// machine. Of a smaller MTU senders learn, as from real routers.
func router(lab *topology.Lab, r *topology.Router, ports portNames) plan.Netns {
	o := origin("router "+r.Name, r.Origin)
	out := plan.Netns{Name: r.Netns(), Kind: plan.Router, IPv6: hasIPv6(lab.Network.NodeCIDRs), Origin: o}
	for _, l := range r.Links {
		plugIn(&out, l.Name, l.Subnet, l.Addrs, l.MAC, ports, origin(o.Object, l.Origin))
	}
	out.Sysctls = routerSysctls(r, out.IPv6)
	for _, x := range r.Routes {
		for _, l := range r.Links {
			if l.Subnet.Has(x.Via) {
				extraRoutes(&out, []topology.Route{x}, l.Name, o.Object)
			}
		}
	}
	subnetRoutes(&out, lab, r.Subnets(), func(s *topology.Subnet) string { return r.LinkTo(s).Name })
	if r.AS != 0 {
		out.Speakers = append(out.Speakers, routerSpeaker(lab, r, &out))
	}
	if len(r.Links) > 0 {
		for _, gw := range r.Links[0].Subnet.Gateways {
			defaultRouteBy(&out, r.Links[0].Name, gw, o)
		}
	}
	for i, ipv6 := range []bool{false, true} {
		if rules := dropRules(r, ipv6); len(rules) > 0 && (i == 0 || out.IPv6) {
			out.Tables = append(out.Tables, iptables.Table{IPv6: ipv6, Name: "filter", Chains: []iptables.Chain{{Name: "FORWARD", Policy: "ACCEPT", Rules: rules}}})
		}
	}
	return out
}

func routerSysctls(r *topology.Router, ipv6 bool) []plan.Sysctl {
	filter := map[bool]string{false: "0", true: "1"}[r.ReversePath]
	list := []plan.Sysctl{
		{Key: "net.ipv4.ip_forward", Value: "1"},
		// As on nodes, ICMP errors are not limited, or some would look like losses.
		{Key: "net.ipv4.icmp_ratelimit", Value: "0"},
		{Key: "net.ipv4.icmp_ratemask", Value: "0"},
	}
	for _, of := range append([]string{"all", "default"}, linkNames(r)...) {
		list = append(list,
			plan.Sysctl{Key: "net.ipv4.conf." + of + ".rp_filter", Value: filter},
			plan.Sysctl{Key: "net.ipv4.conf." + of + ".send_redirects", Value: "0"})
	}
	if ipv6 {
		list = append(list,
			plan.Sysctl{Key: "net.ipv6.conf.all.forwarding", Value: "1"},
			plan.Sysctl{Key: "net.ipv6.icmp.ratelimit", Value: "0"},
			plan.Sysctl{Key: "net.ipv6.icmp.ratemask", Value: "0"})
	}
	return list
}

func linkNames(r *topology.Router) []string {
	var out []string
	for _, l := range r.Links {
		out = append(out, l.Name)
	}
	return out
}

// dropRules are the rules of FORWARD for what a router drops: one for each pair of prefixes.
func dropRules(r *topology.Router, ipv6 bool) []iptables.Rule {
	var rules []iptables.Rule
	for _, d := range r.Drops {
		for _, from := range sides(d.From, ipv6) {
			for _, to := range sides(d.To, ipv6) {
				rules = append(rules, dropRule(r, d, from, to, ipv6))
			}
		}
	}
	return rules
}

// sides are the prefixes of a family; one invalid prefix, which stands for all, where none is written.
func sides(list []netip.Prefix, ipv6 bool) []netip.Prefix {
	if len(list) == 0 {
		return []netip.Prefix{{}}
	}
	var out []netip.Prefix
	for _, p := range list {
		if p.Addr().Is6() == ipv6 {
			out = append(out, p)
		}
	}
	return out
}

func dropRule(r *topology.Router, d topology.Drop, from, to netip.Prefix, ipv6 bool) iptables.Rule {
	var m []iptables.Match
	if from.IsValid() {
		m = append(m, iptables.Src{Prefix: from})
	}
	if to.IsValid() {
		m = append(m, iptables.Dst{Prefix: to})
	}
	switch {
	case d.Protocol == topology.ICMP && ipv6:
		m = append(m, iptables.Proto{Name: "ipv6-icmp"})
	case d.Protocol != "":
		m = append(m, iptables.Proto{Name: string(d.Protocol)})
	}
	if d.Port != 0 {
		m = append(m, iptables.DPort{Port: d.Port})
	}
	return iptables.Rule{Matches: m, Target: iptables.Drop{}, Origin: origin("router "+r.Name, d.Origin)}
}
