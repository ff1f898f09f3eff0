package claims

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// What the blocks of expectations may hold.

// ExpectTable is a claim about the lab.
func ExpectTable() blocks.Schema { return new(expectBody).table() }

// expectBody is a claim about the lab.
type expectBody struct {
	*blocks.Content
	name, from, to, port, protocol, outcome, sometimes, answer, source, forwarded, within, retry, count, sticky, ttl, mtu, upload, allow, denied, model, fails, proves *hcl.Attribute
}

func (b *expectBody) table() blocks.Schema {
	return blocks.Schema{Kind: "expect", Blocks: append([]blocks.Nested{
		blocks.Plain("spread", "How answers are balanced.", func() blocks.Schema { return new(spreadBody).table() }),
		blocks.Plain("http", "An HTTP request, and the response to expect.", func() blocks.Schema {
			return new(httpBody).table()
		}),
		blocks.Plain("latency", "Bounds of the round-trip time, such as \"20ms\".", func() blocks.Schema { return new(boundBody).table("latency") }),
		blocks.Plain("throughput", "Bounds of the rate of an upload, such as \"10mbit\".", func() blocks.Schema { return new(boundBody).table("throughput") }),
	}, stateBlocks()...), Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.name, "string"), Name: "name", Means: "What is claimed, by default the label of the block, with the key of an instance after a colon."},
		{At: blocks.Repeats("map, or set of strings"), Name: "for_each", Means: "A map or a set of strings, with a claim for each element, which is each.key and each.value."},
		{At: blocks.AsWritten(&b.from, "pods, nodes or clients"), Name: "from", Required: true, Means: "Who dials; with to, it may be left out where the expectation is about hosts only."},
		{At: blocks.AsWritten(&b.to, "services, pods, nodes, clients or addresses"), Name: "to", Required: true, Means: "What is dialed."},
		{At: blocks.AsWritten(&b.port, "port number or name"), Name: "port", Means: "The port that is dialed, where to has several."},
		{At: blocks.AsWritten(&b.protocol, "string"), Name: "protocol", Default: `"tcp"`, Means: "The protocol: tcp, udp, sctp or http."},
		{At: blocks.AsWritten(&b.outcome, "string, or map of weights"), Name: "outcome", Default: strconv.Quote(string(flow.Connected)), Means: "How all connections end, or which part of them ends how, as in { connected = 1, timeout = 1 }: " + strings.Join(outcomes, ", ") + "."},
		{At: blocks.AsWritten(&b.sometimes, "bool"), Name: "sometimes", Default: `false`, Means: "Whether it is enough that some connections are as claimed."},
		{At: blocks.AsWritten(&b.answer, "pods or clients"), Name: "answer", Means: "Who answers: each of these at least once, and no other."},
		{At: blocks.AsWritten(&b.source, "addresses, CIDRs, pods, nodes or clients"), Name: "source", Means: "The source address that the server sees; each.from is the dialer."},
		{At: blocks.AsWritten(&b.forwarded, "addresses, CIDRs, pods, nodes or clients"), Name: "forwarded", Means: "The client that a proxy, such as an ingress controller, tells the server over HTTP (X-Forwarded-For); each.from is the dialer."},
		{At: blocks.AsWritten(&b.within, "duration"), Name: "within", Default: strconv.Quote(defaultWithin.String()), Means: "The deadline of one connection."},
		{At: blocks.AsWritten(&b.retry, "duration"), Name: "retry", Default: strconv.Quote(defaultRetry.String()), Means: "How long connections are dialed again that showed what the rules do not allow, as when a packet is lost."},
		{At: blocks.AsWritten(&b.count, "number"), Name: "count", Means: "How many connections each pair makes at least; by default as many as show everything that the claim tells apart."},
		{At: blocks.AsWritten(&b.sticky, "bool"), Name: "sticky", Default: `false`, Means: "Whether all connections of a dialer get the same answer."},
		{At: blocks.AsWritten(&b.ttl, "number"), Name: "ttl", Means: "The TTL or hop limit that packets arrive with."},
		{At: blocks.AsWritten(&b.mtu, "number"), Name: "mtu", Means: "The size of the largest packets of an upload, in bytes."},
		{At: blocks.AsWritten(&b.upload, "number"), Name: "upload", Means: "How many bytes are sent over TCP before the answer; by default 524288 where throughput or mtu is claimed, and otherwise none."},
		{At: blocks.AsWritten(&b.allow, "list of pairs"), Name: "allow", Means: "The pairs that connect, each [from, to]; all others are denied."},
		{At: blocks.AsWritten(&b.denied, "string"), Name: "denied", Means: "How pairs that are not in allow end: timeout or refused; by default as policies deny."},
		{At: blocks.AsWritten(&b.model, "string"), Name: "model", Means: "Instead of from and to: \"kubernetes\" claims the three rules of the Kubernetes network model and the goals that they serve, each by name."},
		{At: blocks.AsWritten(&b.fails, "list of rules"), Name: "fails", Means: "The rules of the model that no connection follows: " + strings.Join(modelRules, ", ") + "."},
		{At: blocks.AsWritten(&b.proves, "list of strings"), Name: "proves", Means: "What this proves of another text, such as the numbers of requirements or of an article's sentences: reports name them."},
		{Name: "path"},
		{Name: "not_through"},
		{Name: "keep"},
	}}
}

// boundBody is the bounds of a measurement.
type boundBody struct {
	*blocks.Content
	min, max, atLeast, atMost, than *hcl.Attribute
}

func (b *boundBody) table(kind string) blocks.Schema {
	return blocks.Schema{Kind: kind + " block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.min, "measurement"), Name: "min", Means: "The lower bound."},
		{At: blocks.AsWritten(&b.max, "measurement"), Name: "max", Means: "The upper bound."},
		{At: blocks.AsWritten(&b.atLeast, "number"), Name: "at_least", Means: "The lower bound, as a factor of what than measures."},
		{At: blocks.AsWritten(&b.atMost, "number"), Name: "at_most", Means: "The upper bound, as a factor of what than measures."},
		{At: blocks.AsWritten(&b.than, "pod, node or client"), Name: "than", Means: "The pod, node or client to compare with."},
	}}
}

// httpBody is an HTTP request and the expected response.
type httpBody struct {
	path, host topology.Opt[string]
	tls        topology.Opt[bool]
	status     topology.Opt[int]
	response   topology.Opt[bool]
	header     map[string]string
	sends      map[string]string
	seen       map[string]string
	seenHost   topology.Opt[string]
	seenPath   topology.Opt[string]
	client     topology.Opt[netip.Addr]
	version    topology.Opt[int]
}

func (b *httpBody) table() blocks.Schema {
	return blocks.Schema{Kind: "http block", Attrs: []blocks.Attribute{
		{At: &b.path, Name: "path", Default: `"/"`, Means: "The path of the request."},
		{At: &b.host, Name: "host", Means: "The host of the request, by which an ingress controller chooses; by default the name or address that is dialed."},
		{At: &b.tls, Name: "tls", Default: `false`, Means: "Whether the request is made over TLS, by a client that trusts the certificates of the lab: without one for the host there is no response."},
		{At: &b.status, Name: "status", Means: "The status of the response."},
		{At: &b.response, Name: "response", Default: `true`, Means: "Whether there is a response; false if the server ends or refuses the connection before that, as for want of a certificate."},
		{At: &b.header, Name: "header", Means: "Header fields of the response and their values; \"\" where there is none."},
		{At: &b.sends, Name: "sends", Means: "Header fields of the request and their values."},
		{At: &b.seenHost, Name: "seen_host", Means: "The host of the request as the server sees it, behind proxies that may rewrite it."},
		{At: &b.seenPath, Name: "seen_path", Means: "The path and query of the request as the server sees it."},
		{At: &b.seen, Name: "seen", Means: "Header fields of the request as the server sees it, and their values; \"\" where there is none."},
		{At: &b.client, Name: "proxied_for", Means: "The client that a header of the PROXY protocol names, as if the dialer were its load balancer."},
		{At: &b.version, Name: "proxy_protocol", Default: "1", Means: "The version of the PROXY protocol: 1 or 2."},
	}}
}

// spreadBody is how answers are balanced.
type spreadBody struct{ tolerance, weights *hcl.Attribute }

func (b *spreadBody) table() blocks.Schema {
	return blocks.Schema{Kind: "spread block", Attrs: []blocks.Attribute{
		{At: blocks.AsWritten(&b.tolerance, "number"), Name: "tolerance", Required: true, Means: "How far each share may deviate, as a fraction of it."},
		{At: blocks.AsWritten(&b.weights, "map of numbers"), Name: "weights", Means: "The weight of each agent of answer, by name; equal by default."},
	}}
}
