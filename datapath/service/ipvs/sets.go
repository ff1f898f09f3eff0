package ipvs

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// The names of the sets, for IPv4.
const (
	setLoopBack             = "KUBE-LOOP-BACK"
	setClusterIP            = "KUBE-CLUSTER-IP"
	setExternalIP           = "KUBE-EXTERNAL-IP"
	setExternalIPLocal      = "KUBE-EXTERNAL-IP-LOCAL"
	setLoadBalancer         = "KUBE-LOAD-BALANCER"
	setLoadBalancerLocal    = "KUBE-LOAD-BALANCER-LOCAL"
	setLoadBalancerFW       = "KUBE-LOAD-BALANCER-FW"
	setLoadBalancerSourceIP = "KUBE-LOAD-BALANCER-SOURCE-IP"
	setLoadBalancerSource   = "KUBE-LOAD-BALANCER-SOURCE-CIDR"
	setNodePortTCP          = "KUBE-NODE-PORT-TCP"
	setNodePortLocalTCP     = "KUBE-NODE-PORT-LOCAL-TCP"
	setNodePortUDP          = "KUBE-NODE-PORT-UDP"
	setNodePortLocalUDP     = "KUBE-NODE-PORT-LOCAL-UDP"
	setNodePortSCTP         = "KUBE-NODE-PORT-SCTP-HASH"
	setNodePortLocalSCTP    = "KUBE-NODE-PORT-LOCAL-SCTP-HASH"
	setHealthCheck          = "KUBE-HEALTH-CHECK-NODE-PORT"
	setIPVSIPs              = "KUBE-IPVS-IPS"
)

// kinds are all sets, with the comment of the rules that match them; each set exists even
// when it is empty.
var kinds = map[string]struct {
	ipset.Type
	comment string
}{
	setLoopBack:             {ipset.HashIPPortIP, "Kubernetes endpoints dst ip:port, source ip for solving hairpin purpose"},
	setClusterIP:            {ipset.HashIPPort, "Kubernetes service cluster ip + port for masquerade purpose"},
	setExternalIP:           {ipset.HashIPPort, "Kubernetes service external ip + port for masquerade and filter purpose"},
	setExternalIPLocal:      {ipset.HashIPPort, "Kubernetes service external ip + port with externalTrafficPolicy=local"},
	setLoadBalancer:         {ipset.HashIPPort, "Kubernetes service lb portal"},
	setLoadBalancerLocal:    {ipset.HashIPPort, "Kubernetes service load balancer ip + port with externalTrafficPolicy=local"},
	setLoadBalancerFW:       {ipset.HashIPPort, "Kubernetes service load balancer ip + port for load balancer with sourceRange"},
	setLoadBalancerSourceIP: {ipset.HashIPPortIP, "Kubernetes service load balancer ip + port + source IP for packet filter purpose"},
	setLoadBalancerSource:   {ipset.HashIPPortNet, "Kubernetes service load balancer ip + port + source cidr for packet filter purpose"},
	setNodePortTCP:          {ipset.BitmapPort, "Kubernetes nodeport TCP port for masquerade purpose"},
	setNodePortLocalTCP:     {ipset.BitmapPort, "Kubernetes nodeport TCP port with externalTrafficPolicy=local"},
	setNodePortUDP:          {ipset.BitmapPort, "Kubernetes nodeport UDP port for masquerade purpose"},
	setNodePortLocalUDP:     {ipset.BitmapPort, "Kubernetes nodeport UDP port with externalTrafficPolicy=local"},
	setNodePortSCTP:         {ipset.HashIPPort, "Kubernetes nodeport SCTP port for masquerade purpose with type 'hash ip:port'"},
	setNodePortLocalSCTP:    {ipset.HashIPPort, "Kubernetes nodeport SCTP port with externalTrafficPolicy=local with type 'hash ip:port'"},
	setHealthCheck:          {ipset.BitmapPort, "Kubernetes health check node port"},
	setIPVSIPs:              {ipset.HashIP, ""},
}

// nameOfSet is the name in an IP family. The kernel takes 31 bytes.
func nameOfSet(name string, ipv6 bool) string {
	if !ipv6 {
		return name
	}
	name = strings.Replace(name, "KUBE-", "KUBE-6-", 1)
	return name[:min(len(name), 31)]
}

func (c *compiler) add(set string, e ipset.Entry) {
	if c.sets[set] == nil {
		c.sets[set] = map[ipset.Entry]bool{}
	}
	c.sets[set][e] = true
}

// filled reports whether a set has members: rules that match an empty one are left out.
func (c *compiler) filled(set string) bool { return len(c.sets[set]) > 0 }

// entry is an address with the port of a service.
func (c *compiler) entry(p *service.Port, a netip.Addr) ipset.Entry {
	return ipset.Entry{Prefix: topology.Single(a), Proto: string(p.Port.Protocol), Port: p.Port.Port}
}

// loopBack records the endpoints on this node, in any state: what one of them sends
// to itself has to be masqueraded.
func (c *compiler) loopBack(p *service.Port) {
	for _, e := range p.Port.Endpoints {
		if a := e.Addr.Addr(); a.Is6() == c.ipv6 && e.Node == c.view.Node.Name {
			c.add(setLoopBack, ipset.Entry{Prefix: topology.Single(a), Proto: string(p.Port.Protocol), Port: e.Addr.Port(), Second: topology.Single(a)})
		}
	}
}

// loadBalancer records a load balancer address and the sources that may use it.
func (c *compiler) loadBalancer(p *service.Port, a netip.Addr) {
	entry := c.entry(p, a)
	c.add(setLoadBalancer, entry)
	if p.ExternalLocal() {
		c.add(setLoadBalancerLocal, entry)
	}
	if len(p.SourceRanges) == 0 {
		return
	}
	c.add(setLoadBalancerFW, entry)
	fromNode := false
	for _, r := range p.SourceRanges {
		allowed := entry
		allowed.Second = r.Masked()
		c.add(setLoadBalancerSource, allowed)
		fromNode = fromNode || c.nodeIP.IsValid() && r.Contains(c.nodeIP)
	}
	if !fromNode {
		key := serverKey{netip.AddrPortFrom(a, p.Port.Port), entry.Proto}
		if !slices.Contains(c.barred, key) {
			c.barred = append(c.barred, key)
		}
		return
	}
	// The node has the address itself, and sends to it from it.
	own := entry
	own.Second = topology.Single(a)
	c.add(setLoadBalancerSourceIP, own)
}

// nodePort records a node port. There are no bitmaps for SCTP.
func (c *compiler) nodePort(p *service.Port) {
	if len(c.hosts) == 0 {
		return
	}
	sets := map[topology.Protocol][2]string{
		topology.TCP:  {setNodePortTCP, setNodePortLocalTCP},
		topology.UDP:  {setNodePortUDP, setNodePortLocalUDP},
		topology.SCTP: {setNodePortSCTP, setNodePortLocalSCTP},
	}[p.Port.Protocol]
	entries := []ipset.Entry{{Port: p.Port.NodePort}}
	if p.Port.Protocol == topology.SCTP {
		entries = nil
		for _, a := range c.hosts {
			entries = append(entries, ipset.Entry{Prefix: topology.Single(a), Proto: string(topology.SCTP), Port: p.Port.NodePort})
		}
	}
	for _, e := range entries {
		c.add(sets[0], e)
		if p.ExternalLocal() {
			c.add(sets[1], e)
		}
	}
}

// planSets are all sets with their members in order.
func (c *compiler) planSets() []ipset.Set {
	for a := range c.bound {
		c.add(setIPVSIPs, ipset.Entry{Prefix: topology.Single(a)})
	}
	var out []ipset.Set
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		s := ipset.Set{Name: nameOfSet(name, c.ipv6), Type: kinds[name].Type, IPv6: c.ipv6 && kinds[name].Type != ipset.BitmapPort, Origin: c.proxy}
		for e := range c.sets[name] {
			s.Entries = append(s.Entries, e)
		}
		slices.SortFunc(s.Entries, compareEntries)
		out = append(out, s)
	}
	return out
}

func compareEntries(a, b ipset.Entry) int {
	prefix := func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	}
	return cmp.Or(prefix(a.Prefix, b.Prefix), cmp.Compare(a.Proto, b.Proto), cmp.Compare(a.Port, b.Port), prefix(a.Second, b.Second))
}
