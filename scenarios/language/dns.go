package language

import (
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// dnsTable is the name service of the lab.
func dnsTable(d *topology.DNSSpec) blocks.Schema {
	return blocks.Schema{Kind: "dns block", Attrs: []blocks.Attribute{
		{At: &d.ClusterDomain, Name: "cluster_domain", Default: `"cluster.local"`, Means: "The DNS domain that the names of services end in."},
		{At: &d.ClusterIP, Name: "cluster_ip", Means: "The cluster IP of the service kube-dns; by default the tenth address of service_cidr, as with kubeadm."},
		{At: &d.Replicas, Name: "replicas", Default: "2", Means: "The number of name servers, which are the pods coredns-0, coredns-1 and so on of namespace kube-system."},
		{At: &d.NodeLocal, Name: "node_local", Means: "An address, such as 169.254.20.10, at which every node has a name server of its own, which its pods ask instead of the service, as with the addon NodeLocal DNSCache: no rule of a service and no connection tracking is on the way, and no policy, since it is on the pod's own node, unless host_egress enforces policies there."},
	}}
}

// dnsConfigTable is what a pod adds to its resolver.
func (l *loader) dnsConfigTable(c *topology.DNSConfigSpec) blocks.Schema {
	return blocks.Schema{Kind: "dns_config block", Attrs: []blocks.Attribute{
		{At: l.later(&c.Nameservers), Name: "nameservers", Means: "More name servers, three at most with those of the policy; they are asked when the ones before do not answer."},
		{At: &c.Searches, Name: "searches", Means: "More domains of the search path, 32 at most with those of the policy."},
		{At: &c.Options, Name: "options", Means: "Options of resolv.conf, such as \"ndots:2\", which replace those of the policy that have the same name."},
	}}
}

// evalDNS reads the dns block.
func (l *loader) evalDNS() {
	if b := l.Single("dns"); b != nil {
		l.spec.DNS.Written, l.spec.DNS.Origin = true, b.Origin()
		l.Read(b, dnsTable(&l.spec.DNS))
	}
}

// dnsConfig reads the dns_config block of a pod.
func (l *loader) dnsConfig(c *blocks.Content, s *topology.DNSConfigSpec) {
	if b := l.Option(c, "dns_config"); b != nil {
		s.Origin = b.Origin()
		if l.Read(b, l.dnsConfigTable(s)).Given == 0 {
			l.Errorf(b.KindRange, "Empty dns_config", "The dns_config block changes nothing. Write, for example, options = [\"ndots:2\"], or remove it.")
		}
	}
}
