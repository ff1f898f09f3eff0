package plan

import (
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/plan/origin"
	"github.com/netlab/netlab/datapath/plan/zone"
)

// Origin is the object that an element of the plan serves, and where it is written.
type Origin = origin.Ref

// Kind says what a network namespace represents.
type Kind string

// The kinds of network namespaces.
const (
	Underlay Kind = "underlay" // the network between the nodes
	Router   Kind = "router"
	Node     Kind = "node"
	Client   Kind = "client"
	Pod      Kind = "pod"
)

// Filters reports whether a namespace of the kind can have rules: iptables and nftables.
func (k Kind) Filters() bool { return k == Node || k == Router }

// Plan is the desired state of one lab: the underlay first, then routers, nodes,
// clients and pods, each sorted by name.
type Plan struct {
	Lab   string
	Netns []Netns
}

// Netns is the desired state of one network namespace. Its lists are in
// canonical order (see Sort); Links in the order in which they must be created.
type Netns struct {
	Name    string                 `json:"name"` // underlay, router.r1, node.node1, client.laptop, pod.web-0, pod.otherns.web-0
	Kind    Kind                   `json:"kind"`
	IPv6    bool                   `json:"ipv6"` // off: the namespace has IPv6 disabled
	Origin  Origin                 `json:"origin,omitzero"`
	Links   []Link                 `json:"links,omitempty"`
	Addrs   []Addr                 `json:"addresses,omitempty"`
	Routes  []Route                `json:"routes,omitempty"`
	Neighs  []Neigh                `json:"neighbours,omitempty"`
	FDB     []FDB                  `json:"fdb,omitempty"`
	Sysctls Sysctls                `json:"sysctls,omitempty"`
	Qdiscs  []Qdisc                `json:"qdiscs,omitempty"`
	Sets    []ipset.Set            `json:"sets,omitempty"`
	Tables  []iptables.Table       `json:"tables,omitempty"`
	NFT     []nft.Table            `json:"nftables,omitempty"`
	Virtual []ipvs.Server          `json:"virtualServers,omitempty"`
	UDP     []conntrack.UDPService `json:"udp,omitempty"`
	Cut     []conntrack.Cut        `json:"cut,omitempty"` // in the order of pod and direction
	Agents  []occupant.Agent       `json:"agents,omitempty"`
	Execs   []occupant.Exec        `json:"programs,omitempty"`
	Tunnels []occupant.Tunnel      `json:"userSpaceTunnels,omitempty"`

	// Records are those that its name server has, an agent with DNS.
	Records []zone.Record `json:"records,omitempty"`
	// Resolvers are the resolv.conf of pods in it.
	Resolvers []occupant.Resolver `json:"resolvers,omitempty"`
	// Files are those of pods in it that run no program.
	Files []occupant.PodFiles `json:"files,omitempty"`

	// Routing is the table of its ingress controllers, agents that are one.
	Routing []httproute.Route `json:"routing,omitempty"`

	// ProxyPorts are in the order of service ports, IPv4 first.
	ProxyPorts []occupant.ProxyPort `json:"proxyPorts,omitempty"`

	XfrmStates   []XfrmState  `json:"xfrmStates,omitempty"`
	XfrmPolicies []XfrmPolicy `json:"xfrmPolicies,omitempty"`

	// Speakers is one or none. Its routes are in Routes, too: those of protocol BGP.
	Speakers []bgp.Speaker `json:"speakers,omitempty"`

	Deviations []Deviation `json:"-"` // only in what is read from the kernel
}

// LinkType is a kind of network device, as ip link names it.
type LinkType string

// The link types that plans use.
const (
	Veth   LinkType = "veth"
	Bridge LinkType = "bridge"
	VXLAN  LinkType = "vxlan"
	// IPIP is the tunnel tunl0, which has no far end of its own: the gateway of a route
	// is where its packets go. The kernel may have created it already, down.
	IPIP LinkType = "ipip"
	// Dummy is a device without traffic; it only holds addresses.
	Dummy LinkType = "dummy"
	// TUN is a device whose packets a program reads and writes.
	TUN LinkType = "tun"
	// WireGuard is a device that has a tunnel with keys. Where the kernel lacks it, a TUN
	// device and a program take its place.
	WireGuard LinkType = "wireguard"
)

// Link is a network device. The loopback device is not listed: it is up in
// every namespace. Every link of a plan is up and has one queue.
type Link struct {
	Name    string   `json:"name"`
	Type    LinkType `json:"type"`
	MTU     int      `json:"mtu"`
	MAC     MAC      `json:"mac,omitzero"`
	Master  string   `json:"master,omitempty"`  // name of the bridge in the same namespace; empty: none
	Hairpin bool     `json:"hairpin,omitempty"` // bridge port may send frames back out of the port they arrived on
	Down    bool     `json:"-"`                 // only in links read from the kernel: those of a plan are up
	// UserSpace is only in links that were read: a TUN device and a program stand in for it.
	UserSpace bool `json:"-"`
	// Peer is the other end of a veth. Both ends are listed, each in its own namespace,
	// and refer to each other.
	Peer   Peer       `json:"peer,omitzero"`
	VXLAN  VXLANAttrs `json:"vxlan,omitzero"`
	Origin Origin     `json:"origin,omitzero"`
}

// MAC is an Ethernet address.
type MAC [6]byte

func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// MarshalText returns the address as String does.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Peer names the other end of a veth pair.
type Peer struct {
	Netns string `json:"netns"`
	Link  string `json:"link"`
}

// VXLANAttrs are the attributes of a vxlan link.
type VXLANAttrs struct {
	ID       int        `json:"id"`
	Port     int        `json:"port"` // UDP destination port
	Local    netip.Addr `json:"local"`
	Dev      string     `json:"dev"`
	Learning bool       `json:"learning"`
}

// Addr is an address on a link. An address with the full prefix length is written
// without broadcast. IPv6 addresses are added without duplicate address detection, so
// that they are usable immediately: the plan has no duplicates.
type Addr struct {
	Link   string       `json:"dev"`
	Prefix netip.Prefix `json:"address"` // address and prefix length, not masked
	Origin Origin       `json:"origin,omitzero"`
}

// Route is a route of the main table, at most one per destination. Routes that the
// kernel adds with an address are not listed.
type Route struct {
	// Type is empty for a route that leads somewhere; the others have neither Dev nor Via.
	Type RouteType    `json:"type,omitempty"`
	Dev  string       `json:"dev,omitempty"`
	To   netip.Prefix `json:"to"`           // 0.0.0.0/0: default
	Via  netip.Addr   `json:"via,omitzero"` // invalid: none
	// More are further next hops on the same link: connections are spread evenly
	// over Via and them.
	More   []netip.Addr `json:"more,omitempty"`
	OnLink bool         `json:"onlink,omitempty"`
	// Local makes the destination a local address of the namespace without assigning it
	// to a device (ip route add local … dev lo, in the table local). Dev is lo.
	Local bool `json:"local,omitempty"`
	// Protocol is who set the route, in the words of ip route; empty: ip route itself.
	Protocol RouteProtocol `json:"protocol,omitempty"`
	// Scope link when Via is invalid, else global.
	Origin Origin `json:"origin,omitzero"`
}

// RouteType is what a route does with packets, as ip route names it.
type RouteType string

// The types of routes.
const (
	Unicast     RouteType = ""
	Blackhole   RouteType = "blackhole"   // discards packets silently
	Unreachable RouteType = "unreachable" // discards packets, with an ICMP error to the sender
)

// RouteProtocol is who set a route, as /etc/iproute2/rt_protos names it, or the number of
// one that is not below.
type RouteProtocol string

// The protocols of routes that plans use.
const (
	ByHand RouteProtocol = ""     // RTPROT_BOOT
	Bird   RouteProtocol = "bird" // Calico's routing daemon, and whatever stands in for it
	// BGP is of routes that the namespace's speaker learns. Nothing else sets them: a plan
	// has what the speaker will have learned.
	BGP RouteProtocol = "bgp"
)

// Neigh is a permanent neighbour entry.
type Neigh struct {
	Link   string     `json:"dev"`
	Addr   netip.Addr `json:"address"`
	MAC    MAC        `json:"mac"`
	Origin Origin     `json:"origin,omitzero"`
}

// FDB is a permanent forwarding entry of a vxlan link: frames for MAC go to the
// VTEP at Dst.
type FDB struct {
	Link   string     `json:"dev"`
	Dst    netip.Addr `json:"to"`
	MAC    MAC        `json:"mac"`
	Origin Origin     `json:"origin,omitzero"`
}

// Qdisc is what a link does to outgoing packets: netem for delay, jitter and loss
// (tc-netem(8)), tbf for the rate (tc-tbf(8)), or tbf below netem for both.
type Qdisc struct {
	Link string
	// Kind is one that no plan has, only in those read from the kernel: htb, or clsact and
	// ingress, which are beside the others and act on packets that arrive.
	Kind   string
	Delay  time.Duration
	Jitter time.Duration
	Loss   float64 // share of the packets, from 0 to 1
	Rate   uint64  // bits per second; 0: any
	Origin Origin
}

// Sysctl is one kernel setting of the namespace, in dotted form. One removed from a
// plan keeps its value: the former one is not known.
type Sysctl struct {
	Key   string // net.ipv4.ip_forward
	Value string
}

// OfIPVS reports whether the setting exists only while IPVS is loaded.
func (s Sysctl) OfIPVS() bool { return strings.HasPrefix(s.Key, "net.ipv4.vs.") }
