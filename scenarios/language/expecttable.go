package language

import (
	"strconv"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of expectations may hold.

// expectTable is a claim about the lab.
func expectTable() blocks.Schema {
	return blocks.Schema{Kind: "expect", Blocks: blocks.Named(false, "spread", "http", "latency", "throughput"), Attrs: []blocks.Attribute{
		{At: blocks.Raw, Name: "from", Required: true, Means: "Who dials."},
		{At: blocks.Raw, Name: "to", Required: true, Means: "What is dialed."},
		{At: blocks.Raw, Name: "port", Means: "The port that is dialed, where to has several."},
		{At: blocks.Raw, Name: "protocol", Default: `"tcp"`, Means: "The protocol: tcp, udp, sctp or http."},
		{At: blocks.Raw, Name: "outcome", Default: strconv.Quote(string(flow.Connected)), Means: "How all connections end, or which part of them ends how: { connected = 1, timeout = 1 }."},
		{At: blocks.Raw, Name: "sometimes", Default: `false`, Means: "Whether it is enough that some connections are as claimed."},
		{At: blocks.Raw, Name: "answer", Means: "Who answers: each of these at least once, and no other."},
		{At: blocks.Raw, Name: "source", Means: "The source address that the server sees; each.from is the dialer."},
		{At: blocks.Raw, Name: "within", Default: strconv.Quote(defaultWithin.String()), Means: "The deadline of one connection."},
		{At: blocks.Raw, Name: "retry", Default: strconv.Quote(defaultRetry.String()), Means: "How long connections are dialed again that showed what the rules do not allow, as when a packet is lost."},
		{At: blocks.Raw, Name: "count", Means: "How many connections each pair makes at least; by default as many as show everything that the claim tells apart."},
		{At: blocks.Raw, Name: "sticky", Default: `false`, Means: "Whether all connections of a dialer get the same answer."},
		{At: blocks.Raw, Name: "ttl", Means: "The TTL or hop limit that packets arrive with."},
		{At: blocks.Raw, Name: "mtu", Means: "The size of the largest packets of an upload, in bytes."},
		{At: blocks.Raw, Name: "allow", Means: "The pairs that connect, each [from, to]; all others are denied."},
		{At: blocks.Raw, Name: "denied", Means: "How pairs that are not in allow end: timeout or refused; by default as policies deny."},
		{Name: "path"},
		{Name: "not_through"},
		{Name: "keep"},
	}}
}

// boundTable is the bounds of a measurement.
func boundTable(kind string) blocks.Schema {
	return blocks.Schema{Kind: kind + " block", Attrs: []blocks.Attribute{
		{At: blocks.Raw, Name: "min", Means: "The lower bound."},
		{At: blocks.Raw, Name: "max", Means: "The upper bound."},
		{At: blocks.Raw, Name: "at_least", Means: "The lower bound, as a factor of what than measures."},
		{At: blocks.Raw, Name: "at_most", Means: "The upper bound, as a factor of what than measures."},
		{At: blocks.Raw, Name: "than", Means: "The pod, node or client to compare with."},
	}}
}

// httpTable is an HTTP request and the expected response.
func httpTable(path *topology.Opt[string], status *topology.Opt[int], header *map[string]string) blocks.Schema {
	return blocks.Schema{Kind: "http block", Attrs: []blocks.Attribute{
		{At: path, Name: "path", Default: `"/"`, Means: "The path of the request."},
		{At: status, Name: "status", Means: "The status of the response."},
		{At: header, Name: "header", Means: "Header fields of the response and their values."},
	}}
}

// spreadTable is how answers are balanced.
func spreadTable() blocks.Schema {
	return blocks.Schema{Kind: "spread block", Attrs: []blocks.Attribute{
		{At: blocks.Raw, Name: "tolerance", Required: true, Means: "How far each share may deviate, as a fraction of it."},
		{At: blocks.Raw, Name: "weights", Means: "The weight of each agent of answer, by name; equal by default."},
	}}
}
