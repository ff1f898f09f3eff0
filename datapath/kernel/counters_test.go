//go:build linux

package kernel

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Rules of both kinds count the same three datagrams of 32 bytes.
func TestCountersOfRules(t *testing.T) {
	requires(t, feature.NFT)
	p := small()
	n := &p.Netns[1]
	n.Tables = append(n.Tables, iptables.Table{Name: "filter", Chains: []iptables.Chain{{Name: "OUTPUT", Policy: "ACCEPT", Rules: []iptables.Rule{
		{Matches: []iptables.Match{iptables.Proto{Name: "udp"}, iptables.DPort{Port: 9}}, Target: iptables.Accept{}},
		{Matches: []iptables.Match{iptables.Proto{Name: "tcp"}}, Target: iptables.Accept{}}}}}})
	udp9 := []nft.Expr{nft.Match{Field: nft.L4Proto, Value: nft.Protocol("udp")}, nft.Match{Field: nft.DPort, Value: nft.Number(9)}}
	n.NFT = []nft.Table{{Family: "ip", Name: "count", Chains: []nft.Chain{{Name: "out", Type: "filter", Hook: "output", Policy: "accept",
		Rules: []nft.Rule{{Exprs: append(udp9, nft.Counter{})}, {Exprs: udp9}}}}}}
	p.Sort()
	k := applied(t, p)
	send(t, k, "udp", "192.168.0.1:9", 3)
	counted, err := k.Counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var seen []plan.Counted
	for _, c := range counted {
		if c.Netns == "node.n1" && c.Table != "nat" {
			seen = append(seen, c)
		}
	}
	want := []plan.Counted{
		{Netns: "node.n1", Table: "filter", Chain: "OUTPUT", Rule: "-p udp -m udp --dport 9 -j ACCEPT", Packets: 3, Bytes: 96},
		{Netns: "node.n1", Table: "filter", Chain: "OUTPUT", Rule: "-p tcp -m tcp -j ACCEPT"},
		{Netns: "node.n1", Family: "ip", Table: "count", Chain: "out", Rule: "udp dport 9 counter", Packets: 3, Bytes: 96},
	}
	if !slices.Equal(seen, want) {
		t.Errorf("counted\n%+v\nwant\n%+v", seen, want)
	}
}

// A virtual server and its real server count what they received: a SYN. The kernel adds that up
// every two seconds.
func TestCountersOfVirtualServers(t *testing.T) {
	requiresIPVS(t)
	k := applied(t, balanced())
	send(t, k, "tcp", "10.96.0.10:80", 1)
	want := map[string]uint64{"-A -t 10.96.0.10:80 -s rr": 1, "-a -t 10.96.0.10:80 -r 10.244.11.2:80 -m -w 1": 1, "-a -t 10.96.0.10:80 -r 10.244.11.9:80 -m -w 0": 0}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		counted, err := k.Counters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for rule, packets := range want {
			if slices.Contains(counted, plan.Counted{Netns: "node.n1", Table: plan.VirtualServers, Rule: rule, Packets: packets, Bytes: 60 * packets}) {
				right++
			}
		}
		if right == len(want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("counted %+v, want %v", counted, want)
		}
	}
}

// send sends datagrams of four bytes from node.n1, or opens a connection, whoever answers.
func send(t *testing.T, k *Kernel, network, to string, times int) {
	t.Helper()
	ns, err := k.Namespace("node.n1")
	if err != nil {
		t.Fatal(err)
	}
	err = ns.Do(func() error {
		if network == "tcp" {
			conn, err := net.DialTimeout(network, to, 300*time.Millisecond)
			if err == nil {
				conn.Close()
			}
			return nil
		}
		conn, err := net.ListenPacket(network, ":0")
		if err != nil {
			return err
		}
		defer conn.Close()
		for range times {
			if _, err := conn.WriteTo([]byte("four"), net.UDPAddrFromAddrPort(addrPortOf(to))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
