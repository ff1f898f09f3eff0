package claims

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/expect/state"
	"github.com/netlab/netlab/scenarios/language/blocks"
)

// What the blocks about hosts in an expectation may hold.

// stateBlocks are these blocks.
func stateBlocks() []blocks.Nested {
	return []blocks.Nested{
		blocks.Plain("rules", "Rules of a node or router, in the words of iptables-save, ipset save, ipvsadm -Sn and nft list ruleset.", func() blocks.Schema { return new(rulesBody).table() }),
		blocks.Plain("run", "A command on a host, for at most "+state.RunsFor.String()+", confined as the programs of pods are: it has no capabilities (but as an ordinary user those over the network of a pod with net_admin), and so may read addresses, routes and sysctls but no rules, for which there is the rules block; paper does not know what it prints.",
			func() blocks.Schema { return new(runBody).table() }),
		blocks.Plain("interface", "A network interface of a host.", func() blocks.Schema { return new(interfaceBody).table() }),
		blocks.Plain("route", "A route of the main table of a host, but for those that come with addresses.", func() blocks.Schema { return new(routeBody).table() }),
		blocks.Plain("tracked", "An entry that connection tracking of a node or router has after each connection, and had not before; without those of tunnels.", func() blocks.Schema { return new(trackedBody).table() }),
		blocks.Plain("seen", "A packet that a capture shows at an interface during each connection: before PREROUTING where it comes in, after POSTROUTING where it goes out, without ARP and neighbour discovery.", func() blocks.Schema { return new(seenBody).table() }),
	}
}

const endpointKind = "address, CIDR, address:port, object, or list"

// rulesBody is a claim about rules.
type rulesBody struct {
	*blocks.Content
	on, tool, tableName, chain, set, has, lacks, equals, count, counted, absent *hcl.Attribute
}

func (b *rulesBody) table() blocks.Schema {
	return blocks.Schema{Kind: "rules block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.on, "node or router"), Name: "on", Required: true, Means: "Whose rules."},
		{At: blocks.AsWritten(&b.tool, "string"), Name: "tool", Means: "Only those that this tool lists: " + strings.Join(state.Tools(), ", ") + "."},
		{At: blocks.AsWritten(&b.tableName, "string"), Name: "table", Means: "Only those of this table, of nft with or without its family."},
		{At: blocks.AsWritten(&b.chain, "string"), Name: "chain", Means: "Only those of this chain."},
		{At: blocks.AsWritten(&b.set, "string"), Name: "set", Means: "Only the members of this set of ipset, or of this set or map of nft."},
		{At: blocks.AsWritten(&b.has, "string, or list of strings"), Name: "has", Means: "Parts of rules, in whole words as the tool prints them, each of which is in one of the rules."},
		{At: blocks.AsWritten(&b.lacks, "string, or list of strings"), Name: "lacks", Means: "Parts of rules that are in none of the rules; an address with its prefix length or port has the address, and a list or comment its words."},
		{At: blocks.AsWritten(&b.equals, "text, or list of strings"), Name: "equals", Means: "All the rules in their order, a line each; empty lines and those that begin with # do not count."},
		{At: blocks.AsWritten(&b.count, "number"), Name: "count", Means: "How many rules there are, or how many that have what has says."},
		{At: blocks.AsWritten(&b.counted, "number or \"some\""), Name: "counted", Means: "How many packets of each connection the rules count together, or those that have what has says; paper knows the number in the table nat, which sees the first packet, and of datagrams."},
		{At: blocks.AsWritten(&b.absent, "bool"), Name: "absent", Default: "false", Means: "Whether there is no such chain, set or table, or nothing that the tool lists."},
	}}
}

// runBody is a claim about a command.
type runBody struct {
	*blocks.Content
	on, command, status, output, matches *hcl.Attribute
}

func (b *runBody) table() blocks.Schema {
	return blocks.Schema{Kind: "run block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.on, "pod, node, client or router"), Name: "on", Required: true, Means: "Where it runs; in a pod with a program, beside that."},
		{At: blocks.AsWritten(&b.command, "list of strings"), Name: "command", Required: true, Means: "The program and its arguments, without a shell."},
		{At: blocks.AsWritten(&b.status, "number"), Name: "status", Default: "0", Means: "Its exit status."},
		{At: blocks.AsWritten(&b.output, "string"), Name: "output", Means: "What it prints, standard output and error, but for the last newline."},
		{At: blocks.AsWritten(&b.matches, "regular expression"), Name: "matches", Means: "What its output matches somewhere, in the syntax of Go."},
	}}
}

// interfaceBody is a claim about an interface.
type interfaceBody struct {
	*blocks.Content
	on, name, kind, master, address, mtu, up, absent *hcl.Attribute
}

func (b *interfaceBody) table() blocks.Schema {
	return blocks.Schema{Kind: "interface block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.on, "pod, node, client or router"), Name: "on", Required: true, Means: "Whose interface."},
		{At: blocks.AsWritten(&b.name, "string"), Name: "name", Means: "Its name; by default, any but lo."},
		{At: blocks.AsWritten(&b.kind, "string"), Name: "type", Means: "Its type, as ip -details link prints it: such as bridge or dummy."},
		{At: blocks.AsWritten(&b.master, "string"), Name: "master", Means: "The bridge that it is a port of."},
		{At: blocks.AsWritten(&b.address, "addresses with or without prefix lengths"), Name: "address", Means: "Addresses that it has, among others."},
		{At: blocks.AsWritten(&b.mtu, "number"), Name: "mtu", Means: "Its MTU."},
		{At: blocks.AsWritten(&b.up, "bool"), Name: "up", Means: "Whether it is set up, as all of a plan are."},
		{At: blocks.AsWritten(&b.absent, "bool"), Name: "absent", Default: "false", Means: "Whether there is no such interface."},
	}}
}

// routeBody is a claim about a route.
type routeBody struct {
	*blocks.Content
	on, to, via, dev, kind, absent *hcl.Attribute
}

func (b *routeBody) table() blocks.Schema {
	return blocks.Schema{Kind: "route block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.on, "pod, node, client or router"), Name: "on", Required: true, Means: "Whose route."},
		{At: blocks.AsWritten(&b.to, "CIDR, address or \"default\""), Name: "to", Required: true, Means: "Its destination, exactly; default is that of IPv4, ::/0 that of IPv6."},
		{At: blocks.AsWritten(&b.via, "address"), Name: "via", Means: "A next hop of it."},
		{At: blocks.AsWritten(&b.dev, "string"), Name: "dev", Means: "The interface that it leads to."},
		{At: blocks.AsWritten(&b.kind, "string"), Name: "type", Means: "unicast, blackhole or unreachable; by default, any."},
		{At: blocks.AsWritten(&b.absent, "bool"), Name: "absent", Default: "false", Means: "Whether there is no such route."},
	}}
}

// trackedBody is a claim about connection tracking.
type trackedBody struct {
	*blocks.Content
	on, protocol, source, destination, replySource, replyDestination, replied, count, absent *hcl.Attribute
}

func (b *trackedBody) table() blocks.Schema {
	return blocks.Schema{Kind: "tracked block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.on, "node or router"), Name: "on", Required: true, Means: "Whose connection tracking."},
		{At: blocks.AsWritten(&b.protocol, "string"), Name: "protocol", Means: "The protocol: tcp, udp, sctp, icmp or icmpv6."},
		{At: blocks.AsWritten(&b.source, endpointKind), Name: "source", Means: "The source of the first packet, as it came; \":80\" is a port alone."},
		{At: blocks.AsWritten(&b.destination, endpointKind), Name: "destination", Means: "Its destination, as it came."},
		{At: blocks.AsWritten(&b.replySource, endpointKind), Name: "reply_source", Means: "Where replies come from: the destination after DNAT."},
		{At: blocks.AsWritten(&b.replyDestination, endpointKind), Name: "reply_destination", Means: "Where replies go to: the source after SNAT."},
		{At: blocks.AsWritten(&b.replied, "bool"), Name: "replied", Means: "Whether a reply was seen."},
		{At: blocks.AsWritten(&b.count, "number"), Name: "count", Means: "How many such entries there are; by default, at least one."},
		{At: blocks.AsWritten(&b.absent, "bool"), Name: "absent", Default: "false", Means: "Whether there is no such entry."},
	}}
}

// seenBody is a claim about packets at a link.
type seenBody struct {
	*blocks.Content
	on, link, direction, protocol, source, destination, ttl, encapsulation, outerSource, outerDestination, count, absent *hcl.Attribute
}

func (b *seenBody) table() blocks.Schema {
	return blocks.Schema{Kind: "seen block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.on, "pod, node, client or router"), Name: "on", Required: true, Means: "Whose interface."},
		{At: blocks.AsWritten(&b.link, "string"), Name: "interface", Means: "Its name, which may be lo; by default eth0."},
		{At: blocks.AsWritten(&b.direction, "string"), Name: "direction", Means: "in or out; by default, either."},
		{At: blocks.AsWritten(&b.protocol, "string"), Name: "protocol", Means: "The protocol: tcp, udp, sctp, icmp or icmpv6; in a tunnel, of the packet inside."},
		{At: blocks.AsWritten(&b.source, endpointKind), Name: "source", Means: "The source; in a tunnel, of the packet inside."},
		{At: blocks.AsWritten(&b.destination, endpointKind), Name: "destination", Means: "The destination; in a tunnel, of the packet inside."},
		{At: blocks.AsWritten(&b.ttl, "number"), Name: "ttl", Means: "The TTL or hop limit; in a tunnel, of the packet inside."},
		{At: blocks.AsWritten(&b.encapsulation, "string"), Name: "encapsulation", Means: "The tunnel that the packet is in: " + strings.Join(state.Encapsulations(), ", ") + "; by default, any or none; of one that encrypts, nothing is known of the packet inside."},
		{At: blocks.AsWritten(&b.outerSource, endpointKind), Name: "outer_source", Means: "The source of the packet around it."},
		{At: blocks.AsWritten(&b.outerDestination, endpointKind), Name: "outer_destination", Means: "The destination of the packet around it."},
		{At: blocks.AsWritten(&b.count, "number"), Name: "count", Means: "How many such packets each connection shows; by default, at least one; paper knows the number of datagrams."},
		{At: blocks.AsWritten(&b.absent, "bool"), Name: "absent", Default: "false", Means: "Whether no connection shows such a packet."},
	}}
}
