package walk_test

import (
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

// setRows drop at FORWARD what a set says, of connections of a to port 80 of b.
func setRows() []row {
	prefix := netip.MustParsePrefix
	a, b := prefix("10.0.1.2/32"), prefix("10.0.2.2/32")
	port := func(p netip.Prefix, proto string, n uint16) plan.SetEntry {
		return plan.SetEntry{Prefix: p, Proto: proto, Port: n}
	}
	pair := func(p netip.Prefix, n uint16, second netip.Prefix) plan.SetEntry {
		return plan.SetEntry{Prefix: p, Proto: "tcp", Port: n, Second: second}
	}
	const in, out = "timeout", "b from a"
	var list []row
	for _, r := range []struct {
		name  string
		kind  plan.SetType
		parts string
		want  string
		entry []plan.SetEntry
		not   bool
		proto flow.Protocol
	}{
		{name: "an address", kind: plan.HashIP, parts: "src", want: in, entry: []plan.SetEntry{{Prefix: a}}},
		{name: "another address", kind: plan.HashIP, parts: "dst", want: out, entry: []plan.SetEntry{{Prefix: prefix("10.0.1.3/32")}}},
		{name: "none of it", kind: plan.HashIP, parts: "src", want: in, entry: []plan.SetEntry{{Prefix: b}}, not: true},
		{name: "empty", kind: plan.HashIP, parts: "src", want: out},
		{name: "a network", kind: plan.HashNet, parts: "dst", want: in, entry: []plan.SetEntry{{Prefix: prefix("10.7.0.0/16")}, {Prefix: prefix("10.0.2.0/24")}}},
		{name: "another network", kind: plan.HashNet, parts: "dst", want: out, entry: []plan.SetEntry{{Prefix: prefix("10.0.3.0/24")}}},
		{name: "address and port", kind: plan.HashIPPort, parts: "dst,dst", want: in, entry: []plan.SetEntry{port(b, "tcp", 80)}},
		{name: "another port", kind: plan.HashIPPort, parts: "dst,dst", want: out, entry: []plan.SetEntry{port(b, "tcp", 81)}},
		{name: "another protocol", kind: plan.HashIPPort, parts: "dst,dst", want: out, entry: []plan.SetEntry{port(b, "udp", 80)}},
		{name: "the client's address, the server's port", kind: plan.HashIPPort, parts: "src,dst", want: in, entry: []plan.SetEntry{port(a, "tcp", 80)}},
		{name: "datagrams", kind: plan.HashIPPort, parts: "dst,dst", want: in, entry: []plan.SetEntry{port(b, "udp", 80)}, proto: flow.UDP},
		{name: "network and port", kind: plan.HashNetPort, parts: "dst,dst", want: in, entry: []plan.SetEntry{port(prefix("10.0.0.0/16"), "tcp", 80)}},
		{name: "three parts", kind: plan.HashIPPortIP, parts: "dst,dst,src", want: in, entry: []plan.SetEntry{pair(b, 80, a)}},
		{name: "the last part differs", kind: plan.HashIPPortIP, parts: "dst,dst,src", want: out, entry: []plan.SetEntry{pair(b, 80, b)}},
		{name: "the last part is a network", kind: plan.HashIPPortNet, parts: "dst,dst,src", want: in, entry: []plan.SetEntry{pair(b, 80, prefix("10.3.0.0/16")), pair(b, 80, prefix("10.0.1.0/24"))}},
		{name: "of another network", kind: plan.HashIPPortNet, parts: "dst,dst,src", want: out, entry: []plan.SetEntry{pair(b, 80, prefix("10.3.0.0/16"))}},
		{name: "a bitmap of ports", kind: plan.BitmapPort, parts: "dst", want: in, entry: []plan.SetEntry{{Port: 80}}},
		{name: "a bitmap knows no protocol", kind: plan.BitmapPort, parts: "dst", want: in, entry: []plan.SetEntry{{Port: 80}}, proto: flow.UDP},
		{name: "not in the bitmap", kind: plan.BitmapPort, parts: "dst", want: out, entry: []plan.SetEntry{{Port: 443}}},
	} {
		list = append(list, row{name: r.name, proto: r.proto, want: r.want, change: func(_, n, _ *plan.Netns) {
			n.Sets = append(n.Sets, plan.Set{Name: "S", Type: r.kind, Entries: r.entry})
			rules(n, "filter", "FORWARD", rule(plan.Drop{}, plan.MatchSet{Set: "S", Parts: r.parts, Not: r.not}))
		}})
	}
	return list
}

func TestSets(t *testing.T) {
	for _, r := range setRows() {
		t.Run(r.name, r.check)
	}
	unknown := row{want: "failed", change: forward(plan.Drop{}, plan.MatchSet{Set: "none", Parts: "src"})}
	t.Run("a set that does not exist", unknown.check)
}
