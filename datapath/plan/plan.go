package plan

import (
	"net/netip"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// Origin is the object that an element of the plan serves, and where it is written.
type Origin = origin.Ref

// Kind says what a network namespace represents.
type Kind string

// The kinds of network namespaces.
const (
	Underlay Kind = "underlay" // the network between the nodes
	Node     Kind = "node"
	Client   Kind = "client"
	Pod      Kind = "pod"
)

// Plan is the desired state of one lab: the underlay first, then nodes, clients and
// pods, each sorted by name.
type Plan struct {
	Lab   string
	Netns []Netns
}

// Netns is the desired state of one network namespace. Its lists are in
// canonical order (see Sort); Links in the order in which they must be created.
type Netns struct {
	Name    string // underlay, node.node1, client.laptop, pod.web-0, pod.otherns.web-0
	Kind    Kind
	IPv6    bool // off: the namespace has IPv6 disabled
	Links   []Link
	Addrs   []Addr
	Routes  []Route
	Neighs  []Neigh
	FDB     []FDB
	Sysctls []Sysctl
	Qdiscs  []Qdisc
	Sets    []ipset.Set
	Tables  []iptables.Table
	NFT     []nft.Table
	Virtual []ipvs.Server
	UDP     []UDPService
	Cut     []Cut // in the order of pod and direction
	Agents  []Agent
	Execs   []Exec
	Origin  Origin
}

// LinkType is a kind of network device, as ip link names it.
type LinkType string

// The link types that plans use.
const (
	Veth   LinkType = "veth"
	Bridge LinkType = "bridge"
	VXLAN  LinkType = "vxlan"
	// Dummy is a device without traffic; it only holds addresses.
	Dummy LinkType = "dummy"
)

// Link is a network device. The loopback device is not listed: it is up in
// every namespace. Every link of a plan is up and has one queue.
type Link struct {
	Name    string
	Type    LinkType
	MTU     int
	MAC     [6]byte
	Master  string // name of the bridge in the same namespace; empty: none
	Hairpin bool   // bridge port may send frames back out of the port they arrived on
	Down    bool   // only in links read from the kernel: those of a plan are up
	// Peer is the other end of a veth. Both ends are listed, each in its own namespace,
	// and refer to each other.
	Peer   Peer
	VXLAN  VXLANAttrs
	Origin Origin
}

// Peer names the other end of a veth pair.
type Peer struct {
	Netns string
	Link  string
}

// VXLANAttrs are the attributes of a vxlan link.
type VXLANAttrs struct {
	ID       int
	Port     int // UDP destination port
	Local    netip.Addr
	Dev      string
	Learning bool
}

// Addr is an address on a link. An address with the full prefix length is written
// without broadcast. IPv6 addresses are added without duplicate address detection, so
// that they are usable immediately: the plan has no duplicates.
type Addr struct {
	Link   string
	Prefix netip.Prefix // address and prefix length, not masked
	Origin Origin
}

// Route is a route of the main table, at most one per destination. Routes that the
// kernel adds with an address are not listed.
type Route struct {
	To  netip.Prefix // 0.0.0.0/0: default
	Via netip.Addr   // invalid: none
	// More are further next hops on the same link: connections are spread evenly
	// over Via and them.
	More   []netip.Addr
	Dev    string
	OnLink bool
	// Local makes the destination a local address of the namespace without assigning it
	// to a device (ip route add local … dev lo, in the table local). Dev is lo.
	Local bool
	// Scope link when Via is invalid, else global.
	Origin Origin
}

// Neigh is a permanent neighbour entry.
type Neigh struct {
	Link   string
	Addr   netip.Addr
	MAC    [6]byte
	Origin Origin
}

// FDB is a permanent forwarding entry of a vxlan link: frames for MAC go to the
// VTEP at Dst.
type FDB struct {
	Link   string
	MAC    [6]byte
	Dst    netip.Addr
	Origin Origin
}

// Qdisc is what a link does to outgoing packets: netem for delay, jitter and loss
// (tc-netem(8)), tbf for the rate (tc-tbf(8)), or tbf below netem for both.
type Qdisc struct {
	Link   string
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

// Agent is a set of sockets in a namespace that answer on all its addresses, with their
// own name and the client address that they saw.
type Agent struct {
	Name   string // web-0, laptop; outside the namespace default: db/web-0
	Node   string // the node that it runs on; empty for clients
	Listen []Listen
	// Health makes the agent answer as a health check node port does, over HTTP on
	// its only socket.
	Health Health
	Origin Origin
}

// Health is the answer of a health check node port: 200 when LocalEndpoints is not 0,
// else 503 (kubernetes pkg/proxy/healthcheck). The zero Health means an ordinary agent.
type Health struct {
	Namespace      string
	Service        string
	LocalEndpoints int
}

// Listen is one listening socket of an agent.
type Listen struct {
	Protocol string // tcp, udp or sctp
	Port     uint16
}

// UDPService is a service port whose stale connection tracking entries have to be
// deleted when its rules change. Other protocols notice that the far end is gone; a UDP
// client keeps using the translation of its first datagram, to an endpoint that no
// longer exists, or none from before there was one. So entries are deleted whose
// original destination is one of To, or any address with NodePort, and whose reply does
// not come from one of Endpoints (CleanStaleEntries in kubernetes pkg/proxy/conntrack).
//
// The kernel holds nothing from which it could be read back, so plans are compared
// without it.
type UDPService struct {
	IPv6     bool
	To       []netip.AddrPort // cluster IP, load balancer and external addresses
	NodePort uint16           // 0: none
	// Endpoints are all serving ones, regardless of traffic policies and topology.
	// There is at least one.
	Endpoints []netip.AddrPort
	Origin    Origin
}

// Exec is a program that runs in the namespace as long as the lab does.
type Exec struct {
	Name   string
	Argv   []string
	Env    []string // KEY=value, sorted
	Origin Origin
}
