package ipvs

import (
	"net/netip"
	"slices"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// serverKey identifies a virtual server.
type serverKey struct {
	addr  netip.AddrPort
	proto string
}

// servicePort adds the virtual servers of one service port, its addresses, and what
// the sets need of it.
func (c *compiler) servicePort(p *service.Port) {
	c.loopBack(p)
	internal, external := pool(p, p.InternalLocal()), pool(p, p.ExternalLocal())
	c.add(setClusterIP, c.entry(p, p.ClusterIP))
	c.bound[p.ClusterIP] = p.Origin()
	c.server(p, p.ClusterIP, p.Port.Port, internal)
	for _, a := range p.ExternalIPs {
		if p.ExternalLocal() {
			c.add(setExternalIPLocal, c.entry(p, a))
		} else {
			c.add(setExternalIP, c.entry(p, a))
		}
		c.bind(p, a)
		c.server(p, a, p.Port.Port, external)
	}
	for _, a := range p.VIPs {
		c.loadBalancer(p, a)
		c.bind(p, a)
		c.server(p, a, p.Port.Port, external)
	}
	if p.Port.NodePort != 0 {
		c.nodePort(p)
		for _, a := range c.hosts {
			c.server(p, a, p.Port.NodePort, external)
		}
	}
	// A service whose node ports no address of the node serves is not looked at further (the loop of
	// syncProxyRules in pkg/proxy/ipvs/proxier.go).
	if p.HealthCheckNodePort != 0 && (p.Port.NodePort == 0 || len(c.hosts) > 0) {
		c.add(setHealthCheck, ipset.Entry{Port: p.HealthCheckNodePort})
	}
}

// pool are the endpoints that a virtual server gets. Under policy Local with none here
// these are those of all nodes, as far as known: pods and the node reach them; answers to
// clients outside have another address, unless the pod network masquerades the clients on
// the path (kubernetes pull request 97081).
func pool(p *service.Port, local bool) []*topology.Endpoint {
	if local && len(p.Local) > 0 {
		return p.Local
	}
	return p.Cluster
}

// bind adds an address to the node, unless another link has it already.
func (c *compiler) bind(p *service.Port, a netip.Addr) {
	if _, known := c.bound[a]; !known && !slices.Contains(c.view.Addrs, a) {
		c.bound[a] = p.Origin()
	}
}

// server adds a virtual server. Of two with the same address, port and protocol, the
// first wins.
func (c *compiler) server(p *service.Port, a netip.Addr, port uint16, pool []*topology.Endpoint) {
	key := serverKey{netip.AddrPortFrom(a, port), string(p.Port.Protocol)}
	if c.known[key] {
		return
	}
	c.known[key] = true
	s := ipvs.Server{Addr: key.addr, Proto: key.proto, Scheduler: c.view.Lab.Proxy.IPVS.Scheduler,
		Persistent: p.Service.AffinitySeconds, Origin: p.Origin()}
	if s.Scheduler == "mh" {
		s.Flags = []string{"mh-port"} // kube-proxy's choice: the client's port counts, too
	}
	for _, e := range pool {
		s.Real = append(s.Real, ipvs.Real{Addr: e.Addr, Weight: e.Weight, Origin: p.Origin()})
	}
	slices.SortFunc(s.Real, func(a, b ipvs.Real) int { return a.Addr.Compare(b.Addr) })
	c.servers = append(c.servers, s)
}
