package topology

import (
	"net/netip"
	"slices"
	"time"
)

// Lab is a lab as resolved: every list is sorted by name, every default is
// filled and every address decided.
type Lab struct {
	Name       string
	Network    Network
	Proxy      Proxy
	DNS        *DNS      // nil: there is none
	Subnets    []*Subnet // the default one first
	Routers    []*Router
	Nodes      []*Node
	Clients    []*Client
	Namespaces []*Namespace
	Pods       []*Pod // by namespace, then name
	Services   []*Service
	Controller *Controller // of ingresses; nil: there is none
	Ingresses  []*Ingress  // by namespace, then name
	Gateways   []*Gateway
	HTTPRoutes []*HTTPRoute
	Grants     []*ReferenceGrant

	PolicyOptions   Policies
	Policies        []*Policy // by namespace, then name
	ClusterPolicies []*ClusterPolicy
}

// Enforces reports whether nodes have policies to enforce.
func (l *Lab) Enforces() bool {
	return len(l.Policies)+len(l.ClusterPolicies) > 0 && !l.PolicyOptions.Style.Ignores
}

// Network is the network between and inside the nodes. Slices of prefixes hold
// one entry per IP family, IPv4 first.
type Network struct {
	Mode         NetworkMode
	PodCIDRs     []netip.Prefix
	ServiceCIDRs []netip.Prefix
	NodeCIDRs    []netip.Prefix
	// LoadBalancerCIDRs are the pools of services of type LoadBalancer. No host has
	// an address of them: the outside routes each to the service's Via.
	LoadBalancerCIDRs []netip.Prefix
	// KeepSourceToNodes lets pods dial nodes with their own address. By default the
	// pod network masquerades, so that a node sees another node, not a pod.
	KeepSourceToNodes bool
	// FlannelLayout is FlannelCurrent or FlannelOld.
	FlannelLayout string
	// Docker says that every node has Docker beside its pod network, without containers.
	Docker  bool
	MTU     int // of the default subnet, in bytes
	PathMTU int // of the narrowest path between nodes
	VXLAN   VXLAN
	IPIP    IPIP
	BGP     *BGP   // nil: the routes to pods are written, not learned
	Secret  string // of a mode that encrypts: what its keys are derived from
	Origin  Origin
}

// TunnelPort is the UDP port on which nodes receive what their tunnels carry; 0: none.
func (n *Network) TunnelPort() int {
	if n.Mode.Tunnel == VXLANTunnel {
		return n.VXLAN.Port
	}
	return n.Mode.Port
}

// VXLAN holds the options of a VXLAN tunnel.
type VXLAN struct {
	VNI           int
	Port          int // UDP destination port
	DirectRouting bool
}

// IPIP holds the options of an IPIP tunnel.
type IPIP struct {
	CrossSubnet bool // nodes on one link route to each other without the tunnel
}

// BGPPort is the TCP port of BGP speakers.
const BGPPort = 179

// BGP says how nodes learn the routes to each other's pods: each peers with all others, or
// with route reflectors, if there are any.
type BGP struct {
	AS         uint32 // of all nodes
	Reflectors []*Node
	// Routers says that the routers speak BGP, too: all of them, or none.
	Routers bool
	Origin  Origin
}

// Peers reports whether two nodes have a session with each other.
func (b *BGP) Peers(n, m *Node) bool {
	return n != m && (len(b.Reflectors) == 0 || b.Reflects(n) || b.Reflects(m))
}

// Reflects reports whether a node is a route reflector.
func (b *BGP) Reflects(n *Node) bool { return slices.Contains(b.Reflectors, n) }

// Proxy says who programs the services, and how.
type Proxy struct {
	Mode              ProxyMode
	MasqueradeAll     bool
	DetectLocal       string // DetectClusterCIDR or DetectNone
	NodePortMin       int
	NodePortMax       int
	NodePortAddresses []netip.Prefix
	LocalNodePorts    bool
	Layout            string // one of the mode's; "": it has none to choose from
	IPVS              IPVS
	// Agent does the work of the mode; nil: rules of the plan do.
	Agent  *Agent
	Origin Origin
}

// Name is the mode as a scenario names it.
func (p *Proxy) Name() string {
	if p.Agent != nil {
		return p.Agent.Mode
	}
	return p.Mode.Name
}

// NodePortCIDRs returns the prefixes of a family whose addresses of a node serve node ports, or all:
// when there is none, or one that holds every address.
func (p *Proxy) NodePortCIDRs(n *Node, ipv6 bool) (cidrs []netip.Prefix, all bool) {
	list := p.NodePortAddresses
	if len(list) == 0 && p.Mode.NodePortSet && n != nil {
		for _, six := range []bool{false, true} {
			if a := OfFamily(n.Addrs, six); a.IsValid() {
				list = append(list, Single(a))
			}
		}
	}
	for _, c := range list {
		switch {
		case c.Addr().Is6() != ipv6:
		case c.Bits() == 0:
			return nil, true
		default:
			cidrs = append(cidrs, c)
		}
	}
	return cidrs, len(cidrs) == 0
}

// IPVS holds the options of a proxy with virtual servers.
type IPVS struct {
	Scheduler string
	StrictARP bool
	Addresses string // dummy or local_routes
}

// How pod traffic is told from other traffic: by the pod CIDR, as with kube-proxy's
// --cluster-cidr, or not at all.
const (
	DetectClusterCIDR = "cluster_cidr"
	DetectNone        = "none"
)

// The layouts of flannel's rules: chains of its own, or until 0.19 rules in the kernel's chains,
// which leave what a pod sends to a pod alone, wherever it passes.
const (
	FlannelCurrent = "current"
	FlannelOld     = "0.19"
)

// LayoutCurrent is the layout of kube-proxy 1.35. The mode alone knows those of older versions.
const LayoutCurrent = "current"

// What makes service addresses local to a node in proxy mode ipvs.
const (
	AddressesDummy  = "dummy"        // the device kube-ipvs0
	AddressesRoutes = "local_routes" // routes of the table local
)

// Node is a machine of the cluster.
type Node struct {
	Name     string
	Written  Written
	Labels   map[string]string
	Zone     string
	Subnet   *Subnet
	Addrs    []netip.Addr   // on the subnet, one per family
	PodCIDRs []netip.Prefix // its share of those of the network, or all of them
	MAC      MAC            // of eth0
	VTEPMAC  MAC            // of the vxlan device
	Key      Key            // in modes in which nodes have keys: its private key
	Routes   []Route
	Pods     []*Pod // sorted by name
	Link     Link
	Origin   Origin
}

// Link shapes the packets that an object sends. The zero Link is perfect.
type Link struct {
	Delay  time.Duration
	Jitter time.Duration
	Loss   float64 // share of the packets, from 0 to 1
	Rate   uint64  // bits per second; 0: any
	MTU    int     // 0: that of the network
	Origin Origin
}

// Client is a host outside the cluster, on the underlay.
type Client struct {
	Name    string
	Written Written
	Subnet  *Subnet
	Addrs   []netip.Addr
	MAC     MAC
	Gateway netip.Addr
	Routes  []Route
	Ports   []Port
	Link    Link
	Origin  Origin
}

// Route is an extra route of a node, client or router.
type Route struct {
	To     netip.Prefix
	Via    netip.Addr
	Origin Origin
}

// Namespace is a Kubernetes namespace.
type Namespace struct {
	Name    string
	Written Written
	Labels  map[string]string
	Origin  Origin
}

// Pod is a pod. A host-network pod has its node's addresses and no MAC.
type Pod struct {
	Name        string
	Block       string
	Key         string
	Namespace   string
	Node        *Node
	Addrs       []netip.Addr
	MAC         MAC
	HostLink    string // name of the veth end on the node, at most 15 bytes
	Labels      map[string]string
	HostNetwork bool
	Ready       bool
	Serving     bool
	Terminating bool
	// Hostname is the pod's name below that of a headless service that is called Subdomain.
	Hostname, Subdomain string
	DNSPolicy           DNSPolicy
	DNSConfig           DNSConfig
	// NameServer says that it answers DNS queries about the lab on its ports.
	NameServer bool
	Workload   Workload // that it is part of
	// Ingress says that it is an ingress controller, on its ports.
	Ingress bool
	Ports   []Port
	Command []string
	Env     map[string]string
	Program Program
	Link    Link
	Origin  Origin
}

// Protocol is a transport protocol, in lower case as the kernel's tools write it.
type Protocol string

// The transport protocols of services and ports.
const (
	TCP  Protocol = "tcp"
	UDP  Protocol = "udp"
	SCTP Protocol = "sctp"
)

// Port is a port on which a pod or client answers.
type Port struct {
	Name     string
	Number   uint16
	Protocol Protocol
	HostPort uint16 // of the node, by which it is published; 0: none
	Origin   Origin
}

// MAC is an Ethernet address.
type MAC [6]byte

// Key is a private key of Curve25519.
type Key [32]byte

// ServiceType is a Kubernetes service type.
type ServiceType string

// The service types.
const (
	ClusterIP    ServiceType = "ClusterIP"
	NodePort     ServiceType = "NodePort"
	LoadBalancer ServiceType = "LoadBalancer"
	ExternalName ServiceType = "ExternalName"
)

// TrafficPolicy is an external or internal traffic policy.
type TrafficPolicy string

// The traffic policies.
const (
	PolicyCluster TrafficPolicy = "Cluster"
	PolicyLocal   TrafficPolicy = "Local"
)

// Service is a Kubernetes service.
type Service struct {
	Name                  string
	Written               Written
	Namespace             string
	Labels                map[string]string
	Type                  ServiceType
	Selector              map[string]string // nil: endpoints are written, not selected
	ClusterIPs            []netip.Addr      // one per family; empty: headless or ExternalName
	ExternalIPs           []netip.Addr
	ExternalTrafficPolicy TrafficPolicy
	InternalTrafficPolicy TrafficPolicy
	// LoadBalancers are the addresses that a load balancer announces for the service.
	LoadBalancers []LoadBalancerIP
	// SourceRanges are the clients that may use the load balancer addresses, of both
	// families; empty: all.
	SourceRanges []netip.Prefix
	// Via are the nodes to which the outside routes the load balancer and external
	// addresses, or to whose node ports the balancer connects, sorted by name; several
	// share the connections. Services without such addresses have none.
	Via                      []*Node
	Balancer                 *Balancer // nil: none
	HealthCheckNodePort      uint16    // 0: none
	AffinitySeconds          int       // ClientIP session affinity; 0: none
	TrafficDistribution      string    // PreferSameZone, PreferSameNode or ""
	PublishNotReadyAddresses bool
	ExternalName             string // of type ExternalName
	// Unmanaged services carry a label that tells kube-proxy to leave them alone
	// (service.kubernetes.io/service-proxy-name or .../headless).
	Unmanaged bool
	Ports     []*ServicePort
	// Portless are the endpoints of a headless service without ports, each with port 0: names
	// lead to them, and nothing else.
	Portless []*Endpoint
	Origin   Origin
}

// LoadBalancerIP is one ingress address of a load balancer (ServiceStatus,
// LoadBalancerIngress).
type LoadBalancerIP struct {
	Addr netip.Addr
	// Proxy says that the load balancer itself is the destination of packets
	// (ipMode Proxy), so that nodes have no rules for the address.
	Proxy bool
}

// Balancer is a load balancer that is a host: it accepts the connections to the ports of the
// service, and makes others to the node ports of nodes, one after the other.
type Balancer struct {
	Client *Client
	Check  *Check // nil: every node gets connections, whether it answers or not
}

// Check is how a balancer finds the nodes that get connections: it connects to the node port
// of each. As many checks in a row as the thresholds say change the verdict; after a change of
// the lab one that succeeds is enough.
type Check struct {
	Interval, Timeout  time.Duration
	Healthy, Unhealthy int // thresholds
}

// ServicePort is one port of a service with its endpoints.
type ServicePort struct {
	Name       string
	Protocol   Protocol
	Port       uint16
	TargetPort string // as written: a number or a name
	NodePort   uint16 // 0: none
	ProxyPort  uint16 // on every node, where a proxy in user space listens for it; 0: none does
	Endpoints  []*Endpoint
	Origin     Origin
}

// Endpoint is one address that serves a service port, in the terms of an
// EndpointSlice. Terminating endpoints are Ready only where the service publishes
// addresses that are not ready.
type Endpoint struct {
	Addr        netip.AddrPort
	Pod         *Pod   // nil: not a pod of this lab
	Node        string // name of the node that it runs on
	Hostname    string // below the name of a headless service, where it is written; see HostnameIn
	Ready       bool
	Serving     bool
	Terminating bool
	Zone        string   // of the node that it runs on
	ForZones    []string // hints: the zones that should use it (EndpointHints)
	ForNodes    []string // hints: the nodes that should use it
	Weight      int      // where the proxy has virtual servers
}

// HostnameIn is the name of an endpoint below that of its headless service: the one that is
// written, else the hostname of its pod if that names the service as its subdomain
// (ShouldSetHostname in kubernetes/staging/src/k8s.io/endpointslice/util), else none.
func (e *Endpoint) HostnameIn(s *Service) string {
	if p := e.Pod; e.Hostname == "" && p != nil && p.Subdomain == s.Name && p.Namespace == s.Namespace {
		return p.Hostname
	}
	return e.Hostname
}

// Netns is the name of the network namespace of the node in a plan.
func (n *Node) Netns() string { return "node." + n.Name }

// Netns is the name of the network namespace of the client in a plan.
func (c *Client) Netns() string { return "client." + c.Name }

// Routed reports whether a route that the scenario gives the client covers an address.
func (c *Client) Routed(a netip.Addr) bool { return covered(c.Routes, a) }

func covered(routes []Route, a netip.Addr) bool {
	return slices.ContainsFunc(routes, func(r Route) bool { return r.To.Contains(a) })
}

// Netns is the name of the network namespace of the pod in a plan: its node's
// when the pod uses the host's network.
func (p *Pod) Netns() string {
	switch {
	case p.HostNetwork:
		return p.Node.Netns()
	case p.Namespace == DefaultNamespace:
		return "pod." + p.Name
	default:
		return "pod." + p.Namespace + "." + p.Name
	}
}

// AgentName is how the pod names itself when it answers: web-0, or db/web-0 in
// another namespace than default.
func (p *Pod) AgentName() string {
	if p.Namespace == DefaultNamespace {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// DefaultNamespace is the namespace of pods and services without one.
const DefaultNamespace = "default"
