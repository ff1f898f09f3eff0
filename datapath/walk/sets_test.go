package walk_test

import (
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/iptables"
)

// setRows drop at FORWARD what matches a set, for connections from a to port 80 of b.
func setRows() []row {
	prefix := netip.MustParsePrefix
	a, b := prefix("10.0.1.2/32"), prefix("10.0.2.2/32")
	port := func(p netip.Prefix, proto string, n uint16) ipset.Entry {
		return ipset.Entry{Prefix: p, Proto: proto, Port: n}
	}
	pair := func(p netip.Prefix, n uint16, second netip.Prefix) ipset.Entry {
		return ipset.Entry{Prefix: p, Proto: "tcp", Port: n, Second: second}
	}
	const in, out = "timeout", "b from a"
	var list []row
	for _, r := range []struct {
		name  string
		kind  ipset.Type
		parts string
		want  string
		entry []ipset.Entry
		not   bool
		proto flow.Protocol
	}{
		{name: "an address", kind: ipset.HashIP, parts: "src", want: in, entry: []ipset.Entry{{Prefix: a}}},
		{name: "another address", kind: ipset.HashIP, parts: "dst", want: out, entry: []ipset.Entry{{Prefix: prefix("10.0.1.3/32")}}},
		{name: "negated", kind: ipset.HashIP, parts: "src", want: in, entry: []ipset.Entry{{Prefix: b}}, not: true},
		{name: "empty", kind: ipset.HashIP, parts: "src", want: out},
		{name: "a network", kind: ipset.HashNet, parts: "dst", want: in, entry: []ipset.Entry{{Prefix: prefix("10.7.0.0/16")}, {Prefix: prefix("10.0.2.0/24")}}},
		{name: "another network", kind: ipset.HashNet, parts: "dst", want: out, entry: []ipset.Entry{{Prefix: prefix("10.0.3.0/24")}}},
		{name: "address and port", kind: ipset.HashIPPort, parts: "dst,dst", want: in, entry: []ipset.Entry{port(b, "tcp", 80)}},
		{name: "another port", kind: ipset.HashIPPort, parts: "dst,dst", want: out, entry: []ipset.Entry{port(b, "tcp", 81)}},
		{name: "another protocol", kind: ipset.HashIPPort, parts: "dst,dst", want: out, entry: []ipset.Entry{port(b, "udp", 80)}},
		{name: "the client's address, the server's port", kind: ipset.HashIPPort, parts: "src,dst", want: in, entry: []ipset.Entry{port(a, "tcp", 80)}},
		{name: "datagrams", kind: ipset.HashIPPort, parts: "dst,dst", want: in, entry: []ipset.Entry{port(b, "udp", 80)}, proto: flow.UDP},
		{name: "network and port", kind: ipset.HashNetPort, parts: "dst,dst", want: in, entry: []ipset.Entry{port(prefix("10.0.0.0/16"), "tcp", 80)}},
		{name: "three parts", kind: ipset.HashIPPortIP, parts: "dst,dst,src", want: in, entry: []ipset.Entry{pair(b, 80, a)}},
		{name: "the last part differs", kind: ipset.HashIPPortIP, parts: "dst,dst,src", want: out, entry: []ipset.Entry{pair(b, 80, b)}},
		{name: "the last part is a network", kind: ipset.HashIPPortNet, parts: "dst,dst,src", want: in, entry: []ipset.Entry{pair(b, 80, prefix("10.3.0.0/16")), pair(b, 80, prefix("10.0.1.0/24"))}},
		{name: "of another network", kind: ipset.HashIPPortNet, parts: "dst,dst,src", want: out, entry: []ipset.Entry{pair(b, 80, prefix("10.3.0.0/16"))}},
		{name: "a bitmap of ports", kind: ipset.BitmapPort, parts: "dst", want: in, entry: []ipset.Entry{{Port: 80}}},
		{name: "a bitmap ignores the protocol", kind: ipset.BitmapPort, parts: "dst", want: in, entry: []ipset.Entry{{Port: 80}}, proto: flow.UDP},
		{name: "not in the bitmap", kind: ipset.BitmapPort, parts: "dst", want: out, entry: []ipset.Entry{{Port: 443}}},
	} {
		list = append(list, row{name: r.name, proto: r.proto, want: r.want, change: func(_, n, _ *plan.Netns) {
			n.Sets = append(n.Sets, ipset.Set{Name: "S", Type: r.kind, Entries: r.entry})
			rules(n, "filter", "FORWARD", rule(iptables.Drop{}, iptables.MatchSet{Set: "S", Parts: r.parts, Not: r.not}))
		}})
	}
	return list
}

func TestSets(t *testing.T) {
	for _, r := range setRows() {
		t.Run(r.name, r.check)
	}
	unknown := row{want: "failed", change: forward(iptables.Drop{}, iptables.MatchSet{Set: "none", Parts: "src"})}
	t.Run("a set that does not exist", unknown.check)
}
