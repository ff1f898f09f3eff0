package topology

import "net/netip"

// DNSSpec is the dns block. A lab without one has no name server.
type DNSSpec struct {
	Written       bool
	ClusterDomain Opt[string]
	ClusterIP     Opt[netip.Addr]
	Replicas      Opt[int]
	NodeLocal     Opt[netip.Addr]
	Origin        Origin
}

// DNSConfigSpec is the dns_config block of a pod.
type DNSConfigSpec struct {
	Nameservers Opt[[]netip.Addr]
	Searches    Opt[[]string]
	Options     Opt[[]string] // ndots:2, or a name alone
	Origin      Origin
}

// ClusterDomain is the DNS domain of labs that choose none: Kubernetes' default.
const ClusterDomain = "cluster.local"

// DNS is the name service of a lab.
type DNS struct {
	ClusterDomain string
	Servers       []netip.Addr // cluster IPs of the service, one per family
	NodeLocal     netip.Addr   // where every node has a name server of its own, which pods ask; not valid: none
	Origin        Origin
}

// OnNode is the name of a node's own name server, which answers at NodeLocal.
func (d *DNS) OnNode(n *Node) string { return "node-local-dns-" + n.Name }

// Domain is the DNS domain of the lab's services, with a name service or without.
func (l *Lab) Domain() string {
	if l.DNS != nil {
		return l.DNS.ClusterDomain
	}
	return ClusterDomain
}

// What the name service is made of, as kubeadm names it.
const (
	SystemNamespace = "kube-system"
	DNSService      = "kube-dns"
	DNSPod          = "coredns" // with a number after it
	DNSPort         = 53
)

// DNSPolicy says which resolver a pod has.
type DNSPolicy string

// The DNS policies of pods (kubernetes.io/docs/concepts/services-networking/dns-pod-service).
const (
	ClusterFirst            DNSPolicy = "ClusterFirst"
	ClusterFirstWithHostNet DNSPolicy = "ClusterFirstWithHostNet"
	DNSDefault              DNSPolicy = "Default"
	DNSNone                 DNSPolicy = "None"
)

// DNSConfig is what a pod adds to its resolver.
type DNSConfig struct {
	Nameservers []netip.Addr
	Searches    []string
	Options     []DNSOption
}

// DNSOption is an option of resolv.conf: ndots, with a value, or rotate, without.
type DNSOption struct{ Name, Value string }

// Limits of resolv.conf: the first is the resolver's (MAXNS in resolv.h), the others are what
// Kubernetes accepts (MaxDNSSearchPaths and MaxDNSSearchListChars in
// kubernetes/pkg/apis/core/validation).
const (
	MaxNameServers = 3
	MaxSearch      = 32
	MaxSearchChars = 2048
)
