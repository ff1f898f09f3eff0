package language

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/language/blocks"
)

// What the blocks of expectations may hold.

// expectBody is a claim about the lab.
type expectBody struct {
	blocks.Content
	from, to, port, protocol, outcome, answer, source, sometimes, within, retry, count, sticky, ttl, mtu, allow, denied *hcl.Attribute
}

func (b *expectBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "expect",
		Attrs: []blocks.Attribute{
			{At: &b.from, Name: "from", Holds: blocks.SomeDialers, Required: true, Means: "Who dials."},
			{At: &b.to, Name: "to", Holds: blocks.SomeTargets, Required: true, Means: "What is dialed."},
			{At: &b.port, Name: "port", Holds: blocks.APort, Means: "The port that is dialed, where to has several."},
			{At: &b.protocol, Name: "protocol", Holds: blocks.AString, Default: `"tcp"`, Means: "The protocol: tcp, udp, sctp or http."},
			{At: &b.outcome, Name: "outcome", Holds: blocks.AnOutcome, Default: strconv.Quote(string(flow.Connected)), Means: "How all connections end, or which part of them ends how: { connected = 1, timeout = 1 }."},
			{At: &b.sometimes, Name: "sometimes", Holds: blocks.ABool, Default: `false`, Means: "Whether it is enough that some connections are as claimed."},
			{At: &b.answer, Name: "answer", Holds: blocks.SomeAgents, Means: "Who answers: each of these at least once, and no other."},
			{At: &b.source, Name: "source", Holds: blocks.SomeSources, Means: "The source address that the server sees; each.from is the dialer."},
			{At: &b.within, Name: "within", Holds: blocks.ATime, Default: strconv.Quote(defaultWithin.String()), Means: "The deadline of one connection."},
			{At: &b.retry, Name: "retry", Holds: blocks.ATime, Default: strconv.Quote(defaultRetry.String()), Means: "How long connections are dialed again that showed what the rules do not allow, as when a packet is lost."},
			{At: &b.count, Name: "count", Holds: blocks.ANumber, Means: "How many connections each pair makes at least; by default as many as show everything that the claim tells apart."},
			{At: &b.sticky, Name: "sticky", Holds: blocks.ABool, Default: `false`, Means: "Whether all connections of a dialer get the same answer."},
			{At: &b.ttl, Name: "ttl", Holds: blocks.ANumber, Means: "The TTL or hop limit that packets arrive with."},
			{At: &b.mtu, Name: "mtu", Holds: blocks.ANumber, Means: "The size of the largest packets of an upload, in bytes."},
			{At: &b.allow, Name: "allow", Holds: blocks.SomePairs, Means: "The pairs that connect, each [from, to]; all others are denied."},
			{At: &b.denied, Name: "denied", Holds: blocks.AString, Means: "How pairs that are not in allow end: timeout or refused; by default as policies deny."},
			{Name: "path", Holds: blocks.Anything},
			{Name: "not_through", Holds: blocks.Anything},
			{Name: "keep", Holds: blocks.Anything},
		},
		Blocks: blocks.Named(false, "spread", "http", "latency", "throughput"),
	}
}

// boundBody is the bounds of a measurement.
type boundBody struct {
	blocks.Content
	what                            string // what is measured
	min, max, atLeast, atMost, than *hcl.Attribute
}

func (b *boundBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: b.what + " block",
		Attrs: []blocks.Attribute{
			{At: &b.min, Name: "min", Holds: blocks.Anything, Means: "The lower bound."},
			{At: &b.max, Name: "max", Holds: blocks.Anything, Means: "The upper bound."},
			{At: &b.atLeast, Name: "at_least", Holds: blocks.ANumber, Means: "The lower bound, as a factor of what than measures."},
			{At: &b.atMost, Name: "at_most", Holds: blocks.ANumber, Means: "The upper bound, as a factor of what than measures."},
			{At: &b.than, Name: "than", Holds: blocks.SomeDialers, Means: "The pod, node or client to compare with."},
		},
	}
}

// httpBody is an HTTP request and the expected response.
type httpBody struct {
	blocks.Content
	path, status, header *hcl.Attribute
}

func (b *httpBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "http block",
		Attrs: []blocks.Attribute{
			{At: &b.path, Name: "path", Holds: blocks.AString, Default: `"/"`, Means: "The path of the request."},
			{At: &b.status, Name: "status", Holds: blocks.ANumber, Means: "The status of the response."},
			{At: &b.header, Name: "header", Holds: blocks.AMap, Means: "Header fields of the response and their values."},
		},
	}
}

// spreadBody is how answers are balanced.
type spreadBody struct {
	blocks.Content
	tolerance, weights *hcl.Attribute
}

func (b *spreadBody) Schema() blocks.Schema {
	return blocks.Schema{
		Kind: "spread block",
		Attrs: []blocks.Attribute{
			{At: &b.tolerance, Name: "tolerance", Holds: blocks.ANumber, Required: true, Means: "How far each share may deviate, as a fraction of it."},
			{At: &b.weights, Name: "weights", Holds: blocks.AWeightMap, Means: "The weight of each agent of answer, by name; equal by default."},
		},
	}
}
