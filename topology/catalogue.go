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
	Faults          []FaultKind
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
	// Port is the UDP port that the tunnel receives on, where the lab cannot choose it.
	Port int
	// Encrypts says that the tunnel can have a secret.
	Encrypts bool
	// NodeKeys says that every node has a key pair of its own (Curve25519).
	NodeKeys bool
	// PodRoutes says that a node has a route to each of its pods, by a link of its own,
	// instead of a bridge that all share.
	PodRoutes bool
	// DiscardsUnused says that a node discards what is for addresses of its share of the
	// pod CIDR that no pod has.
	DiscardsUnused bool
	// LearnsRoutes says that nodes can learn the routes to each other's pods by BGP.
	LearnsRoutes bool
	// KeepsOutside says that packets from outside the cluster keep their source address,
	// whichever node the pod is on. Otherwise a node that forwards them to pods of other
	// nodes masquerades them.
	KeepsOutside bool
	// SharedCIDR says that every node has the whole pod CIDR, for its own pods only: pods of
	// different nodes have the same addresses, which services and policies cannot tell
	// apart, so that such labs have neither.
	SharedCIDR bool
	// PublishedOnly says that a node forwards to its pods only what is for their published
	// ports, and nothing from others to others; what pods begin is forwarded.
	PublishedOnly bool
	// HidesNodes says that pods see the address of their bridge as the source of what their
	// node sends to one of its host ports, instead of the address that it was sent from.
	HidesNodes bool
	// OnlyIPv4 says that pods have no IPv6 addresses.
	OnlyIPv4 bool
	// DefaultCIDR is the IPv4 pod CIDR of labs that write none; "": that of all modes.
	DefaultCIDR string
	// Style is the policy style of labs that choose none; "": the first of the catalogue.
	Style string
	// PodLinks begins the names of pods' links on their node, before a hash; "": veth.
	PodLinks string
	// Overhead is how many bytes the mode adds to each packet between nodes, if the outer
	// header is of IPv4 and of IPv6.
	Overhead [2]int
}

// FlannelRules reports whether flannel's rules masquerade what leaves the cluster, as they do in
// all modes but Calico's and Docker's own.
func (m *NetworkMode) FlannelRules() bool { return !m.KeepsOutside && !m.SharedCIDR }

// Tunnel is an encapsulation of packets on the underlay.
type Tunnel string

// The tunnels. With each a node receives datagrams to the tunnel's port, and the first
// address of its share of the pod CIDR belongs to the tunnel device.
const (
	NoTunnel    Tunnel = ""
	VXLANTunnel Tunnel = "VXLAN"
	// IPIPTunnel puts IPv4 packets into others, of IP protocol 4; IPv6 is routed. The first
	// address of a node's share belongs to the tunnel device.
	IPIPTunnel Tunnel = "IPIP"
	UDPTunnel  Tunnel = "UDP" // to the first address of the node, whatever the family of the packet
	// WireGuardTunnel sends datagrams as UDPTunnel does, encrypted; each node takes from
	// another only packets of its pods.
	WireGuardTunnel Tunnel = "WireGuard"
	// ESPTunnel is IPsec's: no device, but policies by which the kernel encrypts packets
	// after it has routed them. Nodes send and receive with their own addresses.
	ESPTunnel Tunnel = "ESP"
)

// ByNode says that the outer header has the first addresses of both nodes, whatever the
// family of the packet in it.
func (t Tunnel) ByNode() bool { return t == UDPTunnel || t == WireGuardTunnel }

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
	// NodePortSet says that node ports are looked up for some addresses of a node only, and that
	// nothing is turned away on the others: those that the lab names, or the node's first of
	// each family.
	NodePortSet bool
	// OwnsClusterIPs says that nodes refuse packets to other ports of cluster IPs, and drop
	// those to addresses of the service CIDR that no service has.
	OwnsClusterIPs bool
	// RefusesOwn says that a load balancer or external address without endpoints is refused to
	// the node's own processes, too.
	RefusesOwn bool
	// FirewallFirst says that source ranges of load balancers are enforced before anything
	// else looks at a packet: whether there are endpoints, and policies.
	FirewallFirst bool
	// LoopbackNodePorts says that node ports can answer on 127.0.0.1.
	LoopbackNodePorts bool
	// DropsInvalid says that nodes drop packets that connection tracking marks INVALID
	// (kubernetes issue 74839).
	DropsInvalid bool
	// UserSpace says that a program on each node accepts the connections to services, and
	// makes others to endpoints, as kube-proxy did until Kubernetes 1.25: to those that are
	// ready, wherever they are. It knows neither traffic policies, source ranges, hints nor
	// health checks, nor the options that say which node ports answer and what is
	// masqueraded, and it serves no SCTP.
	UserSpace bool
	// Exec says that an agent of the scenario does it, a command on every node, and that the
	// plan has no rules for services. All other facts are those of the mode that the agent is
	// like.
	Exec bool
	// Layouts are the ways in which rules can be laid out, the default first; none: there is
	// one.
	Layouts []Layout
}

// Layout is a layout of a proxy mode's rules.
type Layout struct {
	Name  string
	About string // what is different in it, in one clause
	// Past says that an older version of the proxy wrote rules this way.
	Past bool
	// MarksDrops says that what external policy Local keeps from the endpoints of other nodes is
	// marked where node ports are served, and dropped by its mark. Newer layouts drop it by its
	// port, on every address of the node.
	MarksDrops bool
}

// LayoutOf is the layout of the rules, as the mode describes it.
func (p *Proxy) LayoutOf() Layout {
	for _, l := range p.Mode.Layouts {
		if l.Name == p.Layout {
			return l
		}
	}
	return Layout{}
}

// PolicyStyle is a policy style: its name in scenarios, and what it promises.
type PolicyStyle struct {
	Name   string
	About  string
	Limits string
	// Conforms says that the style does all that the API requires. One that does not
	// ships for comparison, and is not tested against what policies mean.
	Conforms bool
	// Ignores says that nothing enforces policies, as in a cluster without an agent for them.
	Ignores bool
	// Exec says that an agent of the scenario does it, as with proxies.
	Exec bool
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

// ProxiesThat are the names of the proxy modes of which something holds.
func (c *Catalogue) ProxiesThat(holds func(ProxyMode) bool) (list []string) {
	for _, m := range c.Proxies {
		if holds(m) {
			list = append(list, m.Name)
		}
	}
	return list
}

// StylesThat are the names of the policy styles of which something holds.
func (c *Catalogue) StylesThat(holds func(PolicyStyle) bool) (list []string) {
	for _, s := range c.Styles {
		if holds(s) {
			list = append(list, s.Name)
		}
	}
	return list
}

// KernelProxies are the names of the proxy modes in which the kernel does the work.
func (c *Catalogue) KernelProxies() []string {
	return c.ProxiesThat(func(m ProxyMode) bool { return m.Translates && !m.UserSpace })
}

// LayoutNames are the names of the layouts of a proxy mode's rules, the default first.
func (m *ProxyMode) LayoutNames() []string {
	return names(m.Layouts, func(l Layout) string { return l.Name })
}

// StyleNames are the names of the policy styles, the default first.
func (c *Catalogue) StyleNames() []string {
	return names(c.Styles, func(s PolicyStyle) string { return s.Name })
}
