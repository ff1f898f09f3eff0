package plan

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/occupant"

	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/datapath/plan/zone"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func TestPlansSurviveEncoding(t *testing.T) {
	p := pair()
	chain := iptables.Chain{Name: "ALL", Rules: []iptables.Rule{{Matches: []iptables.Match{iptables.Src{Prefix: prefix("fd00::/64"), Not: true}}}}}
	p.Netns[0].Tables = append(p.Netns[0].Tables, iptables.Table{IPv6: true, Name: "filter", Chains: []iptables.Chain{chain, {Name: "INPUT", Policy: "DROP"}}})
	p.Netns[0].UDP = []conntrack.UDPService{{To: []netip.AddrPort{netip.MustParseAddrPort("10.96.0.10:53")}, NodePort: 30053,
		Endpoints: []netip.AddrPort{netip.MustParseAddrPort("10.244.1.2:53"), netip.MustParseAddrPort("10.244.1.3:53")}, Origin: Origin{Object: "service dns", File: "a.hcl", Line: 4}},
		{IPv6: true, To: []netip.AddrPort{netip.MustParseAddrPort("[fd00::1]:53")}, Endpoints: []netip.AddrPort{netip.MustParseAddrPort("[fd00::2]:53")}}}
	p.Netns[1].Routes = append(p.Netns[1].Routes, Route{To: prefix("10.0.0.1/32"), Via: netip.MustParseAddr("192.168.0.1"),
		More: []netip.Addr{netip.MustParseAddr("192.168.0.2")}, Dev: "eth0"})
	p.Netns[1].Agents = append(p.Netns[1].Agents, occupant.Agent{Name: "health default/web", Health: occupant.Health{Namespace: "default", Service: "web", LocalEndpoints: 2}, Listen: []occupant.Listen{{Protocol: "tcp", Port: 32000}}})
	p.Netns[1].Execs = []occupant.Exec{{Name: "x", Argv: []string{"sleep", "1"}, Env: []string{"A=b"}, Dir: "/srv", Stdin: "text", Restart: true, Node: "n1",
		Files: []occupant.File{{Path: "/etc/x", Content: "y", Mode: 0o644}}, Addrs: []netip.Addr{netip.MustParseAddr("10.244.1.2")}, Listen: []occupant.Listen{{Protocol: "tcp", Port: 80}},
		Ready: occupant.Ready{TCP: 80, HTTP: "/", Port: 81, Exec: []string{"true"}, Within: 3}, Origin: Origin{Object: "pod x", File: "a.hcl", Line: 3}}}
	p.Netns[1].Tunnels = []occupant.Tunnel{tunnel()}
	p.Netns[1].Speakers = []bgp.Speaker{*speaker(1, 2)}
	p.Netns[1].Records = []zone.Record{{Name: "_http._tcp.web", Type: zone.SRV, Value: "web", Port: 80, Weight: 100, Origin: Origin{Object: "service web", File: "a.hcl", Line: 5}}}
	p.Netns[1].Resolvers = []occupant.Resolver{{Pod: "x", Conf: "nameserver 10.96.0.10\n", Hosts: "127.0.0.1 localhost\n", Origin: Origin{Object: "pod x", File: "a.hcl", Line: 3}}}
	p.Netns[1].Files = []occupant.PodFiles{{Pod: "y", Files: []occupant.File{{Path: "/etc/y", Content: "z", Mode: 0o600}}, Origin: Origin{Object: "pod y", File: "a.hcl", Line: 4}}}
	encoded, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(string(encoded))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got\n%+v\nwant\n%+v", got, p)
	}
	for n := range encoded {
		if _, err := Decode(string(encoded[:n])); err == nil {
			t.Fatalf("no error for the first %d of %d bytes", n, len(encoded))
		}
	}
}

func TestDecodeOfDamagedRulesIsAnError(t *testing.T) {
	encoded, err := Encode(pair())
	if err != nil {
		t.Fatal(err)
	}
	b := encoded
	for i := len(b) - 100; i < len(b); i++ {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0x80
		_, _ = Decode(string(damaged)) // must not panic
	}
}

// manyRules is a plan of about 60,000 rules.
func manyRules() *Plan {
	nat := iptables.Table{Name: "nat"}
	for i := range 10_000 {
		o := Origin{Object: fmt.Sprintf("service default/s%d", i), File: "many.hcl", Line: i}
		c := iptables.Chain{Name: fmt.Sprintf("KUBE-SVC-%016d", i)}
		for j := range 3 {
			c.Rules = append(c.Rules, iptables.Rule{Matches: []iptables.Match{iptables.Comment{Text: fmt.Sprintf("default/s%d -> 10.0.0.%d:80", i, j)},
				iptables.Random{Probability: 1 / float64(3-j)}}, Target: iptables.Jump{Chain: fmt.Sprintf("KUBE-SEP-%013d-%d", i, j)}, Origin: o},
				iptables.Rule{Matches: []iptables.Match{iptables.Comment{Text: fmt.Sprintf("default/s%d", i)}, iptables.Proto{Name: "tcp"}}, Origin: o,
					Target: iptables.DNAT{To: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(j)}), 80)}})
		}
		nat.Chains = append(nat.Chains, c)
	}
	return &Plan{Netns: []Netns{{Name: "node.a", Tables: []iptables.Table{nat}}}}
}

func BenchmarkEncode(b *testing.B) {
	p := manyRules()
	for b.Loop() {
		if _, err := Encode(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	encoded, err := Encode(manyRules())
	if err != nil {
		b.Fatal(err)
	}
	text := string(encoded)
	for b.Loop() {
		if _, err := Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDiffOfEqualPlans(b *testing.B) {
	x, y := manyRules(), manyRules()
	for b.Loop() {
		Diff(x, y)
	}
}

// chains is a plan of one table with that many chains of a rule each.
func chains(n int) *Plan {
	nat := iptables.Table{Name: "nat"}
	for i := range n {
		nat.Chains = append(nat.Chains, iptables.Chain{Name: fmt.Sprintf("KUBE-SVC-%05d", i), Rules: []iptables.Rule{{
			Matches: []iptables.Match{iptables.Comment{Text: fmt.Sprintf("default/s%d", i)}}, Target: iptables.Accept{}, Origin: Origin{Object: "service s", Line: i / 7}}}})
	}
	return &Plan{Netns: []Netns{{Name: "node.a", Tables: []iptables.Table{nat}}}}
}

// A plan that differs little from the one before is decoded only around what differs, wherever
// that moves the rest to.
func TestDecodingAgainReadsWhatDiffers(t *testing.T) {
	before := chains(5000)
	var d Decoder
	decode := func(p *Plan) []iptables.Chain {
		t.Helper()
		encoded, err := Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decode(string(encoded))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, p) {
			t.Fatal("decoded into another plan")
		}
		return got.Netns[0].Tables[0].Chains
	}
	for name, change := range map[string]func(list []iptables.Chain) []iptables.Chain{
		"nothing": func(list []iptables.Chain) []iptables.Chain { return list },
		"a rule":  func(list []iptables.Chain) []iptables.Chain { list[2500].Rules = nil; return list },
		"one more": func(list []iptables.Chain) []iptables.Chain {
			return slices.Insert(list, 100, iptables.Chain{Name: "MORE"})
		},
		"one moves": func(list []iptables.Chain) []iptables.Chain {
			moved := list[7]
			return append(slices.Delete(list, 7, 8), moved)
		},
	} {
		old := decode(before)
		after := chains(5000)
		after.Netns[0].Tables[0].Chains = change(after.Netns[0].Tables[0].Chains)
		shared := map[*iptables.Rule]bool{}
		for _, c := range old {
			shared[&c.Rules[0]] = true
		}
		read := 0
		for _, c := range decode(after) {
			if len(c.Rules) == 0 || !shared[&c.Rules[0]] {
				read++
			}
		}
		if read > 500 || name == "nothing" && read > 0 {
			t.Errorf("%s: %d of 5000 chains were read again", name, read)
		}
	}
}

func TestDecodeOfDamagedListsIsAnError(t *testing.T) {
	encoded, err := Encode(chains(200))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(encoded); n += 31 {
		if _, err := Decode(string(encoded[:n])); err == nil {
			t.Fatalf("no error for the first %d of %d bytes", n, len(encoded))
		}
		damaged := bytes.Clone(encoded)
		damaged[n] ^= 0x81
		_, _ = Decode(string(damaged)) // must not panic
	}
}
