package plan

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func TestPlansSurviveEncoding(t *testing.T) {
	p := pair()
	chain := iptables.Chain{Name: "ALL", Rules: []iptables.Rule{{Matches: []iptables.Match{iptables.Src{Prefix: prefix("fd00::/64"), Not: true}}}}}
	p.Netns[0].Tables = append(p.Netns[0].Tables, iptables.Table{IPv6: true, Name: "filter", Chains: []iptables.Chain{chain, {Name: "INPUT", Policy: "DROP"}}})
	p.Netns[0].UDP = []UDPService{{To: []netip.AddrPort{netip.MustParseAddrPort("10.96.0.10:53")}, NodePort: 30053,
		Endpoints: []netip.AddrPort{netip.MustParseAddrPort("10.244.1.2:53"), netip.MustParseAddrPort("10.244.1.3:53")}, Origin: Origin{Object: "service dns", File: "a.hcl", Line: 4}},
		{IPv6: true, To: []netip.AddrPort{netip.MustParseAddrPort("[fd00::1]:53")}, Endpoints: []netip.AddrPort{netip.MustParseAddrPort("[fd00::2]:53")}}}
	p.Netns[1].Routes = append(p.Netns[1].Routes, Route{To: prefix("10.0.0.1/32"), Via: netip.MustParseAddr("192.168.0.1"),
		More: []netip.Addr{netip.MustParseAddr("192.168.0.2")}, Dev: "eth0"})
	p.Netns[1].Agents = append(p.Netns[1].Agents, Agent{Name: "health default/web", Health: Health{"default", "web", 2}, Listen: []Listen{{"tcp", 32000}}})
	p.Netns[1].Execs = []Exec{{Name: "x", Argv: []string{"sleep", "1"}, Env: []string{"A=b"}, Dir: "/srv", Stdin: "text", Restart: true, Node: "n1",
		Files: []File{{"/etc/x", "y", 0o644}}, Addrs: []netip.Addr{netip.MustParseAddr("10.244.1.2")}, Listen: []Listen{{"tcp", 80}},
		Ready: Ready{TCP: 80, HTTP: "/", Port: 81, Exec: []string{"true"}, Within: 3}, Origin: Origin{Object: "pod x", File: "a.hcl", Line: 3}}}
	var buf bytes.Buffer
	if err := Encode(&buf, p); err != nil {
		t.Fatal(err)
	}
	whole := buf.Bytes()
	got, err := Decode(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got\n%+v\nwant\n%+v", got, p)
	}
	for n := range whole {
		if _, err := Decode(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("no error for the first %d of %d bytes", n, len(whole))
		}
	}
}

func TestDecodeOfDamagedRulesIsAnError(t *testing.T) {
	var buf bytes.Buffer
	if err := Encode(&buf, pair()); err != nil {
		t.Fatal(err)
	}
	b := buf.Bytes()
	for i := len(b) - 100; i < len(b); i++ {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0x80
		_, _ = Decode(bytes.NewReader(damaged)) // must not panic
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
		var buf bytes.Buffer
		if err := Encode(&buf, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	var buf bytes.Buffer
	if err := Encode(&buf, manyRules()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Decode(bytes.NewReader(buf.Bytes())); err != nil {
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
