package servicetest

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// others are the services of the questions that fit in no table.
func (s *Setup) others() []topology.ServiceSpec {
	outer := sort{external: true, itp: topology.PolicyCluster, etp: topology.PolicyCluster, via: 1}
	three := func(name string, f func(*topology.ServiceSpec)) topology.ServiceSpec {
		svc := s.service(outer, "three")
		svc.Name, svc.ExternalIPs = name, topology.Opt[[]netip.Addr]{}
		f(&svc)
		return svc
	}
	return []topology.ServiceSpec{
		three("sticky", func(svc *topology.ServiceSpec) { svc.SessionAffinity = set("ClientIP") }),
		three("nodes-only", func(svc *topology.ServiceSpec) {
			svc.SourceRanges = set([]string{" 192.168.0.11/32", "192.168.0.13/32", "fd00:192:168::/64 "})
		}),
		three("pods-only", func(svc *topology.ServiceSpec) { svc.SourceRanges = set([]string{"10.244.0.0/16", "fd00:10:244::/56"}) }),
		three("taken", func(svc *topology.ServiceSpec) {
			svc.SourceRanges = set([]string{"10.244.0.0/16", "fd00:10:244::/56"})
			svc.LoadBalancerIPs = set([]netip.Addr{printer})
			svc.IPFamilyPolicy = set("SingleStack")
		}),
		three("unrestricted", func(svc *topology.ServiceSpec) { svc.SourceRanges = set([]string{"10.1.0.0/16", "0.0.0.0/0", "::/0"}) }),
		three("proxy-mode", func(svc *topology.ServiceSpec) { svc.LoadBalancerMode = set("Proxy") }),
		three("unmanaged", func(svc *topology.ServiceSpec) {
			svc.Labels = map[string]string{"service.kubernetes.io/service-proxy-name": "other"}
		}),
		three("near-node", func(svc *topology.ServiceSpec) { svc.TrafficDistribution = set("PreferSameNode") }),
		three("near-zone", func(svc *topology.ServiceSpec) { svc.TrafficDistribution = set("PreferSameZone") }),
		three("unready-too", func(svc *topology.ServiceSpec) {
			svc.Selector, svc.PublishNotReadyAddresses = map[string]string{"state": "unready"}, set(true)
		}),
	}
}

// otherCases test single features.
func (r *testLab) otherCases() []Case {
	var list []Case
	all := state{"three", states()[0].endpoints}
	outer := sort{external: true, itp: topology.PolicyCluster, etp: topology.PolicyCluster, via: 1}
	from := func(name string) place {
		for _, p := range append(places(), place{"a-0", "pod.a-0", "pod", 1}) {
			if p.name == name {
				return p
			}
		}
		panic("servicetest: no place " + name)
	}
	// ask adds a question as in the tables, about another service with some of the
	// endpoints.
	ask := func(name, place, service string, to target, endpoints ...server) *Case {
		q := question{from(place), to, outer, state{"three", endpoints}, flow.TCP}
		list = append(list, Case{Name: name, Flow: q.flow(r, service), Ends: r.right(q), q: q})
		return &list[len(list)-1]
	}
	// unless changes the right answer where the proxy knows what it depends on.
	unless := func(c *Case, ends []flow.Result) {
		if !r.userSpace() {
			c.Ends = ends
		}
	}
	near := func(list []server) []server {
		if r.userSpace() {
			return all.endpoints
		}
		return list
	}
	inner, vip, port1 := target{name: clusterIP}, target{name: loadBalancer}, target{name: nodePort, node: 1}
	a, b := all.endpoints[:2], all.endpoints[2:]

	ask("hairpin through the cluster IP", "a-0", "inner-three", inner, all.endpoints...)
	ask("hairpin through a node port", "a-0", "outer-three", port1, all.endpoints...)
	for _, p := range places() {
		ask("a client stays with its endpoint: "+p.name, p.name, "sticky", inner, all.endpoints...).Sticky = true
		ask("a client stays with its endpoint at a node port: "+p.name, p.name, "sticky", port1, all.endpoints...).Sticky = true
		ask("0.0.0.0/0 among source ranges lifts them: "+p.name, p.name, "unrestricted", vip, all.endpoints...)
		ask("cluster IPs have no source ranges: "+p.name, p.name, "pods-only", inner, all.endpoints...)
		ask("node ports have no source ranges: "+p.name, p.name, "pods-only", port1, all.endpoints...)
		ask("cluster IP of a service with ipMode Proxy: "+p.name, p.name, "proxy-mode", inner, all.endpoints...)
		ask("a published endpoint that is not ready: "+p.name, p.name, "unready-too", inner, server{block: "u", node: 1})
	}
	ask("source ranges of nodes admit the node", "node1", "nodes-only", vip, all.endpoints...)
	unless(ask("source ranges of nodes keep pods out", "shell-1", "nodes-only", vip, all.endpoints...), timeout)
	ask("source ranges of pods admit pods", "shell-1", "pods-only", vip, all.endpoints...)
	unless(ask("source ranges of pods keep the outside out", "laptop", "pods-only", vip, all.endpoints...), timeout)
	unless(ask("source ranges of pods keep nodes out", "node1", "pods-only", vip, all.endpoints...), timeout)
	unless(ask("a load balancer address with ipMode Proxy has no rules", "shell-1", "proxy-mode", vip, all.endpoints...), timeout)
	ask("a service of another proxy", "shell-1", "unmanaged", inner).Ends = timeout
	ask("same node", "shell-1", "near-node", inner, near(a)...)
	ask("no endpoint on the node: same zone", "shell-3", "near-node", inner, near(b)...)
	ask("same zone", "shell-1", "near-zone", inner, near(a)...)
	ask("same zone, other node", "shell-3", "near-zone", inner, near(b)...)
	ask("same zone from outside", "laptop", "near-zone", port1, near(a)...)
	r.wrongPort(ask("wrong port", "shell-1", "inner-three", inner))
	if !r.IPv6 {
		unless(ask("what source ranges drop does not reach another host: from outside", "laptop", "taken", vip, all.endpoints...), timeout)
		unless(ask("what source ranges drop does not reach another host: from a node", "node1", "taken", vip, all.endpoints...), timeout)
		r.localhost(ask("node port of localhost", "node1", "outer-three", port1, all.endpoints...))
	}
	return list
}

// unservedPort is a port that no service has.
const unservedPort = 81

// wrongPort changes the port to one that the service does not have. iptables has no
// rule for it, nor has userspace, and the packet leaves by the default route; nftables and ipvs
// have rules for the whole address.
func (r *testLab) wrongPort(c *Case) {
	c.Flow.To = netip.AddrPortFrom(c.Flow.To.Addr(), unservedPort)
	if m := r.lab.Proxy.Mode; m.VirtualServers || m.OwnsClusterIPs {
		c.Ends = refused
	} else {
		c.Ends = timeout
	}
}

// localhost changes the address to 127.0.0.1, which not every mode serves.
func (r *testLab) localhost(c *Case) {
	c.Flow.To = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), c.Flow.To.Port())
	if !r.lab.Proxy.Mode.LoopbackNodePorts {
		c.Ends = refused
	}
}
