package topology

// Catalogue is what a lab can be made of: the pod-network modes, the proxy modes and
// the policy styles, the default of each first. Package datapath has the one that
// ships. There is at least one of each. Planned names are known, and rejected as not
// supported yet.
type Catalogue struct {
	Networks        []NetworkMode
	PlannedNetworks []string
	Proxies         []ProxyMode
	PlannedProxies  []string
	Styles          []PolicyStyle
}

// NetworkMode is a pod-network mode: its name in scenarios, and what it promises.
type NetworkMode struct {
	Name   string
	About  string // how packets get to the pods of other nodes, in one clause
	Limits string // what the mode needs or cannot do, in one clause; "": nothing
	// Routed says that every node has a route to the pods of every other node.
	Routed bool
	// Tunnel encapsulates packets between nodes.
	Tunnel Tunnel
}

// Tunnel is an encapsulation of packets on the underlay.
type Tunnel string

// The tunnels. With VXLAN a node receives datagrams to the tunnel's port, and the first
// address of its share of the pod CIDR belongs to the tunnel device.
const (
	NoTunnel    Tunnel = ""
	VXLANTunnel Tunnel = "VXLAN"
)

// ProxyMode is a proxy mode: its name in scenarios, and what it promises. One that promises
// nothing does nothing: services have addresses, and no node translates them.
type ProxyMode struct {
	Name   string
	About  string
	Limits string
	// Translates says that nodes replace the addresses of services by those of endpoints.
	Translates bool
	// VirtualServers says that nodes balance by IPVS: a service's address is the node's
	// own, a virtual server after INPUT chooses the endpoint, schedulers and weights
	// count, and external traffic policy Local does not look at the client's origin.
	VirtualServers bool
	// LoopbackNodePorts says that node ports can answer on 127.0.0.1.
	LoopbackNodePorts bool
	// DropsInvalid says that nodes drop packets that connection tracking marks INVALID
	// (kubernetes issue 74839).
	DropsInvalid bool
	// Layouts says that rules can be laid out as in older versions.
	Layouts bool
}

// PolicyStyle is a policy style: its name in scenarios, and what it promises.
type PolicyStyle struct {
	Name   string
	About  string
	Limits string
	// Conforms says that the style does all that the API requires. One that does not
	// ships for comparison, and is not tested against what policies mean.
	Conforms bool
}

// names lists the names of modes or styles.
func names[T any](list []T, name func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, m := range list {
		out = append(out, name(m))
	}
	return out
}

// NetworkNames are the names of the pod-network modes, the default first.
func (c *Catalogue) NetworkNames() []string {
	return names(c.Networks, func(m NetworkMode) string { return m.Name })
}

// ProxyNames are the names of the proxy modes, the default first.
func (c *Catalogue) ProxyNames() []string {
	return names(c.Proxies, func(m ProxyMode) string { return m.Name })
}

// StyleNames are the names of the policy styles, the default first.
func (c *Catalogue) StyleNames() []string {
	return names(c.Styles, func(s PolicyStyle) string { return s.Name })
}
