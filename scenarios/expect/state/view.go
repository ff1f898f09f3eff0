package state

import (
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
)

// View is what is found on a host. Which fields count depends on the claim.
type View struct {
	Lines  []Line
	Links  []Link
	Routes []Route
	Output *Output // nil: paper does not know what a command prints

	// Of one connection.
	flow.Sight
	Paper    bool          // it is a path on paper: what a connection is of is not counted there
	Protocol flow.Protocol // of the connection
}

// Line is a rule, a member of a set or a virtual server, as a tool lists it, or, without text,
// the chain or set itself.
type Line struct {
	Tool  string // iptables, ip6tables, ipset, ipvsadm or nft
	Table string // of nft with its family: ip kube-proxy
	Chain string
	Set   string
	Text  string
}

// Link is a network interface with its addresses.
type Link struct {
	Name, Type, Master string
	MTU                int
	Up                 bool
	Addrs              []netip.Prefix
}

// Route is a route of the main table.
type Route struct {
	To   netip.Prefix
	Via  []netip.Addr // none: to neighbours of the link
	Dev  string
	Type string // blackhole, unreachable or unicast
}

// Output is what a command did.
type Output struct {
	Status int
	Text   string // of standard output and error; at most MaxOutput bytes
	Long   bool   // there was more
	Late   bool   // it had not ended in time
	Err    string // why it could not be started; then there is nothing else
}
