package language

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/datapath/flow"
)

// What the blocks of expectations may hold.

// expectBody is a claim about the lab.
type expectBody struct {
	content
	from, to, port, protocol, outcome, answer, source, within, retry, count, sticky, ttl, mtu, allow, denied *hcl.Attribute
}

func (b *expectBody) schema() schema {
	return schema{
		kind: "expect",
		attrs: []attribute{
			{at: &b.from, name: "from", holds: someDialers, required: true, means: "Who dials."},
			{at: &b.to, name: "to", holds: someTargets, required: true, means: "What is dialed."},
			{at: &b.port, name: "port", holds: aPort, means: "The port that is dialed, where to has several."},
			{at: &b.protocol, name: "protocol", holds: aString, def: `"tcp"`, means: "The protocol: tcp, udp, sctp or http."},
			{at: &b.outcome, name: "outcome", holds: aString, def: strconv.Quote(string(flow.Connected)), means: "How connections end."},
			{at: &b.answer, name: "answer", holds: someAgents, means: "Who answers: each of these at least once, and no other."},
			{at: &b.source, name: "source", holds: someSources, means: "The source address that the server sees; each.from is the dialer."},
			{at: &b.within, name: "within", holds: aTime, def: strconv.Quote(defaultWithin.String()), means: "The deadline of one connection."},
			{at: &b.retry, name: "retry", holds: aTime, def: strconv.Quote(defaultRetry.String()), means: "How long wrong results are retried."},
			{at: &b.count, name: "count", holds: aNumber, means: "How many connections each pair makes; by default as many as the claim needs."},
			{at: &b.sticky, name: "sticky", holds: aBool, def: `false`, means: "Whether all connections of a dialer get the same answer."},
			{at: &b.ttl, name: "ttl", holds: aNumber, means: "The TTL or hop limit that packets arrive with."},
			{at: &b.mtu, name: "mtu", holds: aNumber, means: "The size of the largest packets of an upload, in bytes."},
			{at: &b.allow, name: "allow", holds: somePairs, means: "The pairs that connect, each [from, to]; all others are denied."},
			{at: &b.denied, name: "denied", holds: aString, means: "How pairs that are not in allow end: timeout or refused; by default as policies deny."},
			{name: "path", holds: anything},
			{name: "not_through", holds: anything},
			{name: "keep", holds: anything},
		},
		blocks: named(false, "spread", "http", "latency", "throughput"),
	}
}

// boundBody is the bounds of a measurement.
type boundBody struct {
	content
	what                            string // what is measured
	min, max, atLeast, atMost, than *hcl.Attribute
}

func (b *boundBody) schema() schema {
	return schema{
		kind: b.what + " block",
		attrs: []attribute{
			{at: &b.min, name: "min", holds: anything, means: "The lower bound."},
			{at: &b.max, name: "max", holds: anything, means: "The upper bound."},
			{at: &b.atLeast, name: "at_least", holds: aNumber, means: "The lower bound, as a factor of what than measures."},
			{at: &b.atMost, name: "at_most", holds: aNumber, means: "The upper bound, as a factor of what than measures."},
			{at: &b.than, name: "than", holds: someDialers, means: "The pod, node or client to compare with."},
		},
	}
}

// httpBody is an HTTP request and the expected response.
type httpBody struct {
	content
	path, status, header *hcl.Attribute
}

func (b *httpBody) schema() schema {
	return schema{
		kind: "http block",
		attrs: []attribute{
			{at: &b.path, name: "path", holds: aString, def: `"/"`, means: "The path of the request."},
			{at: &b.status, name: "status", holds: aNumber, means: "The status of the response."},
			{at: &b.header, name: "header", holds: aMap, means: "Header fields of the response and their values."},
		},
	}
}

// spreadBody is how answers are balanced.
type spreadBody struct {
	content
	tolerance, weights *hcl.Attribute
}

func (b *spreadBody) schema() schema {
	return schema{
		kind: "spread block",
		attrs: []attribute{
			{at: &b.tolerance, name: "tolerance", holds: aNumber, required: true, means: "How far each share may deviate, as a fraction of it."},
			{at: &b.weights, name: "weights", holds: aWeightMap, means: "The weight of each agent of answer, by name; equal by default."},
		},
	}
}
