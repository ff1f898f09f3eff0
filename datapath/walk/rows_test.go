package walk_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/occupant"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
)

// row is a change to the smallest lab with a router in it, and the result of a flow. a
// dials unless from is set.
//
//	client.a 10.0.1.2 --- 10.0.1.1 node.r 10.0.2.1 --- 10.0.2.2 client.b
type row struct {
	name   string
	change func(a, r, b *plan.Netns)
	from   string // client.a
	to     string // 10.0.2.2:80
	proto  flow.Protocol
	within time.Duration
	want   string
}

// routed is the lab of the rows. The router's links are bridges with one port. b and r serve port 80 over TCP and UDP.
func routed() *plan.Plan {
	mac := byte(0)
	veth := func(name, netns, peer string) plan.Link {
		mac++
		return plan.Link{Name: name, Type: plan.Veth, MTU: 1500, MAC: [6]byte{2, 0, 0, 0, 0, mac}, Peer: plan.Peer{Netns: netns, Link: peer}}
	}
	bridge := func(name string) plan.Link {
		mac++
		return plan.Link{Name: name, Type: plan.Bridge, MTU: 1500, MAC: [6]byte{2, 0, 0, 0, 0, mac}}
	}
	port := func(bridge string, l plan.Link) plan.Link { l.Master = bridge; return l }
	addr := func(link, prefix string) plan.Addr {
		return plan.Addr{Link: link, Prefix: netip.MustParsePrefix(prefix)}
	}
	gateway := func(via string) []plan.Route {
		return []plan.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr(via), Dev: "eth0"}}
	}
	listen := []occupant.Listen{{Protocol: "tcp", Port: 80}, {Protocol: "udp", Port: 80}}
	p := &plan.Plan{Lab: "rows", Netns: []plan.Netns{
		{Name: "node.r", Kind: plan.Node, Links: []plan.Link{bridge("a"), bridge("b"), port("a", veth("pa", "client.a", "eth0")), port("b", veth("pb", "client.b", "eth0"))},
			Addrs: []plan.Addr{addr("a", "10.0.1.1/24"), addr("b", "10.0.2.1/24")}, Agents: []occupant.Agent{{Name: "r", Node: "r", Listen: listen}},
			Sysctls: []plan.Sysctl{{Key: "net.ipv4.ip_forward", Value: "1"}, {Key: "net.ipv4.icmp_ratelimit", Value: "0"}}},
		{Name: "client.a", Kind: plan.Client, Links: []plan.Link{veth("eth0", "node.r", "pa")},
			Addrs: []plan.Addr{addr("eth0", "10.0.1.2/24")}, Routes: gateway("10.0.1.1")},
		{Name: "client.b", Kind: plan.Client, Links: []plan.Link{veth("eth0", "node.r", "pb")},
			Addrs: []plan.Addr{addr("eth0", "10.0.2.2/24")}, Routes: gateway("10.0.2.1"), Agents: []occupant.Agent{{Name: "b", Listen: listen}}},
	}}
	return p
}

// rules appends rules to a built-in chain.
func rules(n *plan.Netns, table, chain string, list ...iptables.Rule) {
	i := slices.IndexFunc(n.Tables, func(t iptables.Table) bool { return t.Name == table })
	if i < 0 {
		n.Tables = append(n.Tables, iptables.Table{Name: table})
		i = len(n.Tables) - 1
	}
	t := &n.Tables[i]
	j := slices.IndexFunc(t.Chains, func(c iptables.Chain) bool { return c.Name == chain })
	if j < 0 {
		c := iptables.Chain{Name: chain}
		if slices.Contains([]string{"PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"}, chain) {
			c.Policy = "ACCEPT"
		}
		t.Chains = append(t.Chains, c)
		j = len(t.Chains) - 1
	}
	t.Chains[j].Rules = append(t.Chains[j].Rules, list...)
}

func rule(target iptables.Target, matches ...iptables.Match) iptables.Rule {
	return iptables.Rule{Matches: matches, Target: target}
}

func forward(target iptables.Target, matches ...iptables.Match) func(a, r, b *plan.Netns) {
	return func(_, r, _ *plan.Netns) { rules(r, "filter", "FORWARD", rule(target, matches...)) }
}

// bridged moves b to the bridge of a, where rules of r drop packets.
func bridged(matches ...iptables.Match) func(a, r, b *plan.Netns) {
	return func(_, r, b *plan.Netns) {
		r.Links[3].Master = "a"
		b.Addrs[0].Prefix = netip.MustParsePrefix("10.0.1.3/24")
		b.Routes[0].Via = netip.MustParseAddr("10.0.1.1")
		setSysctl(r, "net.bridge.bridge-nf-call-iptables", "1")
		rules(r, "filter", "FORWARD", rule(iptables.Drop{}, matches...))
	}
}

// refusing gives the router a route that discards packets.
func refusing(kind plan.RouteType, to string) func(a, r, b *plan.Netns) {
	return func(_, r, _ *plan.Netns) {
		r.Routes = append(r.Routes, plan.Route{Type: kind, To: netip.MustParsePrefix(to), Protocol: plan.Bird})
	}
}

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

func rows() []row {
	isTCP, isUDP := iptables.Proto{Name: "tcp"}, iptables.Proto{Name: "udp"}
	answers := iptables.CTState{States: []string{"ESTABLISHED", "RELATED"}}
	vip := iptables.Dst{Prefix: netip.MustParsePrefix("10.9.9.9/32")}
	toB := iptables.DNAT{To: addrPort("10.0.2.2:80")}
	dnat := func(r *plan.Netns) { rules(r, "nat", "PREROUTING", rule(toB, vip, isTCP)) }
	return []row{
		{name: "a router routes", want: "b from a"},
		{name: "a datagram", proto: flow.UDP, want: "b from a"},
		{name: "forwarding is off", change: func(_, r, _ *plan.Netns) { setSysctl(r, "net.ipv4.ip_forward", "0") }, want: "timeout"},
		{name: "no route at the router", to: "10.0.3.1:80", want: "unreachable"},
		{name: "no route at the router, datagram", to: "10.0.3.1:80", proto: flow.UDP, want: "unreachable"},
		{name: "no route back", change: func(_, _, b *plan.Netns) { b.Routes = nil }, want: "timeout"},
		{name: "no such host, short deadline", to: "10.0.2.77:80", want: "timeout"},
		{name: "no such host, long deadline", to: "10.0.2.77:80", within: 6 * time.Second, want: "unreachable"},
		{name: "no such host on the link, long deadline", to: "10.0.1.77:80", within: 6 * time.Second, want: "unreachable"},
		{name: "a routing loop", change: func(_, r, b *plan.Netns) {
			r.Routes = append(r.Routes, plan.Route{To: netip.MustParsePrefix("10.7.0.0/16"), Via: netip.MustParseAddr("10.0.2.2"), Dev: "b"})
			setSysctl(b, "net.ipv4.ip_forward", "1")
		}, to: "10.7.0.1:80", want: "unreachable"},
		{name: "untracked by its destination port", change: func(_, r, _ *plan.Netns) {
			rules(r, "raw", "PREROUTING", rule(iptables.NoTrack{}, isTCP, iptables.DPort{Port: 80}))
			rules(r, "filter", "FORWARD", rule(iptables.Drop{}, iptables.CTState{States: []string{"UNTRACKED"}}))
		}, want: "timeout"},
		{name: "the reply untracked by its source port", change: func(_, r, _ *plan.Netns) {
			rules(r, "raw", "PREROUTING", rule(iptables.NoTrack{}, isTCP, iptables.SPort{Port: 80}))
			rules(r, "filter", "FORWARD", rule(iptables.Drop{}, answers))
		}, want: "b from a"},
		{name: "another port is tracked", change: func(_, r, _ *plan.Netns) {
			rules(r, "raw", "PREROUTING", rule(iptables.NoTrack{}, isTCP, iptables.DPort{Port: 81}))
			rules(r, "filter", "FORWARD", rule(iptables.Drop{}, iptables.CTState{States: []string{"UNTRACKED"}}))
		}, want: "b from a"},
		{name: "untracked, DNAT does not happen", to: "10.9.9.9:80", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			rules(r, "raw", "PREROUTING", rule(iptables.NoTrack{}))
		}, want: "unreachable"},
		{name: "REJECT", change: forward(iptables.Reject{}), want: "refused"},
		{name: "REJECT of datagrams", change: forward(iptables.Reject{}, isUDP), proto: flow.UDP, want: "refused"},
		{name: "REJECT as host unreachable", change: forward(iptables.Reject{With: "icmp-host-unreachable"}), want: "unreachable"},
		{name: "REJECT as prohibited", change: forward(iptables.Reject{With: "icmp-admin-prohibited"}), want: "unreachable"},
		{name: "REJECT with a reset", change: forward(iptables.Reject{With: "tcp-reset"}, isTCP), want: "refused"},
		{name: "REJECT with a reset after DNAT, from a bridge", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			setSysctl(r, "net.bridge.bridge-nf-call-iptables", "1")
			rules(r, "filter", "FORWARD", rule(iptables.Reject{With: "tcp-reset"}, isTCP))
		}, to: "10.9.9.9:81", want: "timeout"},
		{name: "REJECT with an error after DNAT, from a bridge", change: func(_, r, _ *plan.Netns) {
			dnat(r)
			setSysctl(r, "net.bridge.bridge-nf-call-iptables", "1")
			rules(r, "filter", "FORWARD", rule(iptables.Reject{}, isTCP))
		}, to: "10.9.9.9:81", within: 3 * time.Second, want: "refused"},
		{name: "DROP", change: forward(iptables.Drop{}), want: "timeout"},
		{name: "DROP of one port", change: forward(iptables.Drop{}, isTCP, iptables.DPort{Port: 81}), want: "b from a"},
		{name: "DROP of a range of ports", change: forward(iptables.Drop{}, isTCP, iptables.DPorts{First: 79, Last: 80}), want: "timeout"},
		{name: "DROP of another range of ports", change: forward(iptables.Drop{}, isTCP, iptables.DPorts{First: 81, Last: 90}), want: "b from a"},
		{name: "DROP of a list of ports", change: forward(iptables.Drop{}, isTCP, iptables.MultiPort{Ports: "22,70:80,443"}), want: "timeout"},
		{name: "DROP of other ports in a list", change: forward(iptables.Drop{}, isTCP, iptables.MultiPort{Ports: "22,70:79,443"}), want: "b from a"},
		{name: "within a limit", change: forward(iptables.Drop{}, iptables.Limit{Rate: "10/min"}), want: "timeout"},
		{name: "counted in an accounting object", change: forward(iptables.Drop{}, iptables.NFAcct{Object: "some"}), want: "timeout"},
		{name: "NFLOG", change: forward(iptables.NFLog{Group: 100, Prefix: "seen"}), want: "b from a"},
		{name: "a port of a bridge, routed", change: forward(iptables.Drop{}, iptables.Physdev{In: "pa"}), want: "timeout"},
		{name: "another port of a bridge, routed", change: forward(iptables.Drop{}, iptables.Physdev{In: "pb"}, iptables.CTState{States: []string{"NEW"}}), want: "b from a"},
		{name: "routed is not bridged", change: forward(iptables.Drop{}, iptables.Physdev{Bridged: true}), want: "b from a"},
		{name: "bridged packets", change: bridged(iptables.Physdev{Bridged: true}), to: "10.0.1.3:80", want: "timeout"},
		{name: "from a port of a bridge to another", change: bridged(iptables.Physdev{In: "pa", Out: "p+", Bridged: true}), to: "10.0.1.3:80", want: "timeout"},
		{name: "from another port of a bridge", change: bridged(iptables.Physdev{In: "pb"}, iptables.CTState{States: []string{"NEW"}}), to: "10.0.1.3:80", want: "b from a"},
		{name: "to another port of a bridge", change: bridged(iptables.Physdev{Out: "pa", Bridged: true}, iptables.CTState{States: []string{"NEW"}}), to: "10.0.1.3:80", want: "b from a"},
		{name: "an accepted ICMP type", to: "10.0.2.2:81", proto: flow.UDP, change: func(a, _, _ *plan.Netns) {
			rules(a, "filter", "INPUT", rule(iptables.Accept{}, iptables.Proto{Name: "icmp"}, iptables.ICMPType{Type: 3, Code: 3}), rule(iptables.Drop{}))
		}, want: "refused"},
		{name: "another ICMP code", to: "10.0.2.2:81", proto: flow.UDP, change: func(a, _, _ *plan.Netns) {
			rules(a, "filter", "INPUT", rule(iptables.Accept{}, iptables.Proto{Name: "icmp"}, iptables.ICMPType{Type: 3, Code: 1}), rule(iptables.Drop{}))
		}, want: "timeout"},
		{name: "an ICMP type with any code", to: "10.0.2.2:81", proto: flow.UDP, change: func(a, _, _ *plan.Netns) {
			rules(a, "filter", "INPUT", rule(iptables.Drop{}, iptables.Proto{Name: "icmp"}, iptables.ICMPType{Type: 3, AnyCode: true}))
		}, want: "timeout"},
		{name: "a goto", change: func(_, r, _ *plan.Netns) {
			rules(r, "filter", "FORWARD", rule(iptables.Jump{Chain: "OWN"}), rule(iptables.Reject{}))
			rules(r, "filter", "OWN", rule(iptables.Goto{Chain: "AWAY"}), rule(iptables.Drop{}))
			rules(r, "filter", "AWAY", rule(iptables.Return{}))
		}, want: "refused"},
		{name: "SetMark", change: func(_, r, _ *plan.Netns) {
			rules(r, "mangle", "PREROUTING", rule(iptables.OrMark{Bits: 7}), rule(iptables.SetMark{Mask: 2}), rule(iptables.SetMark{Value: 8, Mask: 12}))
			rules(r, "filter", "FORWARD", rule(iptables.Drop{}, iptables.Mark{Value: 9, Not: true}))
		}, want: "b from a"},
		{name: "DROP by link", change: forward(iptables.Drop{}, iptables.InIf{Name: "a"}, iptables.OutIf{Name: "b"}), want: "timeout"},
		{name: "DROP by another link", change: forward(iptables.Drop{}, iptables.InIf{Name: "b"}, iptables.CTState{States: []string{"NEW"}}), want: "b from a"},
		{name: "DROP of replies", change: forward(iptables.Drop{}, answers), want: "timeout"},
		{name: "DROP by link, negated", change: forward(iptables.Drop{}, iptables.InIf{Name: "b", Not: true}), want: "timeout"},
		{name: "local REJECT", change: func(a, _, _ *plan.Netns) { rules(a, "filter", "OUTPUT", rule(iptables.Reject{}, isTCP)) }, want: "refused"},
		{name: "local DROP", change: func(a, _, _ *plan.Netns) { rules(a, "filter", "OUTPUT", rule(iptables.Drop{})) }, want: "timeout"},
		{name: "DROP of a local datagram", proto: flow.UDP, change: func(a, _, _ *plan.Netns) { rules(a, "filter", "OUTPUT", rule(iptables.Drop{})) }, want: "timeout"},
		{name: "DROP of a local datagram at POSTROUTING", proto: flow.UDP, change: func(a, _, _ *plan.Netns) { rules(a, "mangle", "POSTROUTING", rule(iptables.Drop{})) }, want: "timeout"},
		{name: "REJECT of a local datagram", proto: flow.UDP, change: func(a, _, _ *plan.Netns) {
			rules(a, "filter", "OUTPUT", rule(iptables.Reject{}, iptables.Proto{Name: "udp"}))
		}, want: "refused"},
		{name: "incoming ICMP dropped", change: func(a, r, _ *plan.Netns) {
			rules(r, "filter", "FORWARD", rule(iptables.Reject{}))
			rules(a, "filter", "INPUT", rule(iptables.Drop{}, iptables.Proto{Name: "icmp"}))
		}, want: "timeout"},
		{name: "refused by a closed port", to: "10.0.2.2:81", want: "refused"},
		{name: "a datagram to the port of a tunnel", to: "10.0.2.2:81", proto: flow.UDP, change: tunnelAt(81, "10.0.2.2"), want: "timeout"},
		{name: "a stream to the port of a tunnel", to: "10.0.2.2:81", change: tunnelAt(81, "10.0.2.2"), want: "refused"},
		{name: "a process dials from an IPv4 address that only a route makes local", from: "node.r", to: "10.9.9.9:80", change: localRoute("10.9.9.9/32"), want: "r from 10.9.9.9"},
		{name: "over IPv6 it dials from the address most like it", from: "node.r", to: "[fd00:2:9::9]:80", change: localRoute("fd00:2:9::9/128", "a fd00:1::1/64", "b fd00:2::1/64", "b fd00:2:8::1/32"), want: "r from fd00:2::1"},
		{name: "a datagram to the port of a tunnel of the other family", to: "10.0.2.2:81", proto: flow.UDP, change: tunnelAt(81, "fd00::2"), want: "refused"},
		{name: "refused by a closed port, datagram", to: "10.0.2.2:81", proto: flow.UDP, want: "refused"},
		{name: "only replies accepted", change: func(a, _, _ *plan.Netns) {
			rules(a, "filter", "INPUT", rule(iptables.Accept{}, answers), rule(iptables.Drop{}))
		}, want: "b from a"},
		{name: "ICMP errors are related", to: "10.0.2.2:81", proto: flow.UDP, change: func(a, _, _ *plan.Netns) {
			rules(a, "filter", "INPUT", rule(iptables.Accept{}, answers), rule(iptables.Drop{}))
		}, want: "refused"},
		{name: "marks decide", change: func(_, r, _ *plan.Netns) {
			rules(r, "mangle", "PREROUTING", rule(iptables.OrMark{Bits: 6}), rule(iptables.XorMark{Bits: 2}))
			rules(r, "filter", "FORWARD", rule(iptables.Drop{}, iptables.Mark{Value: 4, Mask: 6, Not: true}))
		}, want: "b from a"},
		{name: "a jump that returns", change: func(_, r, _ *plan.Netns) {
			rules(r, "filter", "FORWARD", rule(iptables.Jump{Chain: "OWN"}), rule(iptables.Drop{}))
			rules(r, "filter", "OWN", rule(iptables.Return{}, iptables.Src{Prefix: netip.MustParsePrefix("10.0.1.2/32")}), rule(iptables.Accept{}))
		}, want: "timeout"},
		{name: "a jump that accepts", change: func(_, r, _ *plan.Netns) {
			rules(r, "filter", "FORWARD", rule(iptables.Jump{Chain: "OWN"}), rule(iptables.Drop{}))
			rules(r, "filter", "OWN", rule(iptables.Return{}, iptables.Src{Prefix: netip.MustParsePrefix("10.0.0.0/16"), Not: true}), rule(iptables.Accept{}))
		}, want: "b from a"},
		{name: "a random choice", change: forward(iptables.Reject{}, iptables.Random{Probability: 0.5}, iptables.CTState{States: []string{"NEW"}}), want: "b from a, refused"},
		{name: "DNAT", change: func(_, r, _ *plan.Netns) { dnat(r) }, to: "10.9.9.9:81", want: "b from a"},
		{name: "DNAT to the router itself", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.2.1:80")}, vip, isTCP))
		}, to: "10.9.9.9:81", want: "r from a"},
		{name: "DNAT to a closed port", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.2.2:81")}, vip, isTCP))
		}, to: "10.9.9.9:81", want: "refused"},
		{name: "DNAT to a closed port, datagram", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.2.2:81")}, vip, isUDP))
		}, to: "10.9.9.9:81", proto: flow.UDP, want: "refused"},
		{name: "DNAT and MASQUERADE to a closed port, datagram", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.2.2:81")}, vip, isUDP))
			rules(r, "nat", "POSTROUTING", rule(iptables.Masquerade{}, iptables.OutIf{Name: "b"}))
		}, to: "10.9.9.9:81", proto: flow.UDP, want: "refused"},
		{name: "DNAT to an unused address", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.5.5.5:80")}, vip, isTCP))
		}, to: "10.9.9.9:81", want: "unreachable"},
		{name: "DNAT back to the dialer", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.DNAT{To: addrPort("10.0.1.2:80")}, vip, isTCP))
		}, to: "10.9.9.9:81", want: "timeout"},
		{name: "REDIRECT", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.Redirect{Port: 80}, vip, isTCP))
		}, to: "10.9.9.9:81", want: "r from a"},
		{name: "REDIRECT of what is for another host", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(iptables.Redirect{Port: 80}, isTCP))
			rules(r, "filter", "INPUT", rule(iptables.Drop{}, iptables.Dst{Prefix: netip.MustParsePrefix("10.0.1.1/32"), Not: true}, iptables.State{State: "NEW"}))
		}, to: "10.0.2.2:81", want: "r from a"},
		{name: "REDIRECT where the link has no address", change: func(a, r, _ *plan.Netns) {
			r.Addrs = r.Addrs[1:]
			r.Routes = append(r.Routes, plan.Route{To: netip.MustParsePrefix("10.0.1.2/32"), Dev: "a"})
			r.Addrs = append(r.Addrs, plan.Addr{Link: "b", Prefix: netip.MustParsePrefix("10.0.1.1/32")})
			rules(r, "nat", "PREROUTING", rule(iptables.Redirect{Port: 80}, vip, isTCP))
		}, to: "10.9.9.9:81", want: "timeout"},
		{name: "REDIRECT for a local process", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "OUTPUT", rule(iptables.Redirect{Port: 80}, iptables.Dst{Prefix: netip.MustParsePrefix("10.0.1.9/32")}, isTCP))
		}, from: "node.r", to: "10.0.1.9:81", want: "r from 10.0.1.1"},
		{name: "a proxy in user space", change: func(_, r, _ *plan.Netns) {
			r.ProxyPorts = []occupant.ProxyPort{{Service: "s", Protocol: "tcp", At: addrPort("0.0.0.0:7"), Endpoints: []netip.AddrPort{addrPort("10.0.2.2:80")}}}
		}, to: "10.0.1.1:7", want: "b from 10.0.2.1"},
		{name: "a proxy in user space whose first endpoint is closed", change: func(_, r, _ *plan.Netns) {
			r.ProxyPorts = []occupant.ProxyPort{{Service: "s", Protocol: "tcp", At: addrPort("10.0.1.1:7"), Endpoints: []netip.AddrPort{addrPort("10.0.2.2:81"), addrPort("10.0.2.2:80")}}}
		}, to: "10.0.1.1:7", want: "b from 10.0.2.1"},
		{name: "a proxy in user space without an endpoint", change: func(_, r, _ *plan.Netns) {
			r.ProxyPorts = []occupant.ProxyPort{{Service: "s", Protocol: "tcp", At: addrPort("0.0.0.0:7"), Endpoints: []netip.AddrPort{addrPort("10.0.2.2:81")}}}
		}, to: "10.0.1.1:7", want: "reset"},
		{name: "a proxy in user space, datagram", proto: flow.UDP, change: func(_, r, _ *plan.Netns) {
			r.ProxyPorts = []occupant.ProxyPort{{Service: "s", Protocol: "udp", At: addrPort("0.0.0.0:7"), Endpoints: []netip.AddrPort{addrPort("10.0.2.2:80")}}}
		}, to: "10.0.1.1:7", want: "b from 10.0.2.1"},
		{name: "a local process skips PREROUTING", change: func(_, r, _ *plan.Netns) { dnat(r) }, from: "node.r", to: "10.9.9.9:81", want: "unreachable"},
		{name: "DNAT for a local process", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "OUTPUT", rule(toB, iptables.Dst{Prefix: netip.MustParsePrefix("10.0.1.9/32")}, isTCP))
		}, from: "node.r", to: "10.0.1.9:81", want: "b from 10.0.1.1"},
		{name: "the filter sees the first link", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "OUTPUT", rule(toB, iptables.Dst{Prefix: netip.MustParsePrefix("10.0.1.9/32")}, isTCP))
			rules(r, "filter", "OUTPUT", rule(iptables.Drop{}, iptables.OutIf{Name: "a"}))
		}, from: "node.r", to: "10.0.1.9:81", want: "timeout"},
		{name: "the filter does not see the last link", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "OUTPUT", rule(toB, iptables.Dst{Prefix: netip.MustParsePrefix("10.0.1.9/32")}, isTCP))
			rules(r, "filter", "OUTPUT", rule(iptables.Drop{}, iptables.OutIf{Name: "b"}))
		}, from: "node.r", to: "10.0.1.9:81", want: "b from 10.0.1.1"},
		{name: "MASQUERADE", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "POSTROUTING", rule(iptables.Masquerade{}, iptables.OutIf{Name: "b"}))
		}, want: "b from 10.0.2.1"},
		{name: "MASQUERADE on the loopback", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "POSTROUTING", rule(iptables.Masquerade{}, iptables.OutIf{Name: "lo"}))
		}, from: "node.r", to: "127.0.0.1:80", want: "r from 10.0.1.1"},
		{name: "loopback to loopback", from: "node.r", to: "127.0.0.5:80", want: "r from 127.0.0.1"},
		{name: "own address", from: "node.r", to: "10.0.2.1:80", want: "r from 10.0.2.1"},
		{name: "the address of another link", to: "10.0.2.1:80", want: "r from a"},
		{name: "LOCAL is any local address", change: func(_, r, _ *plan.Netns) {
			rules(r, "nat", "PREROUTING", rule(toB, iptables.AddrType{Dst: "LOCAL"}, isTCP, iptables.DPort{Port: 90}))
		}, to: "10.0.2.1:90", want: "b from a"},
		{name: "a martian source", change: func(_, r, _ *plan.Netns) {
			r.Addrs = append(r.Addrs, plan.Addr{Link: "b", Prefix: netip.MustParsePrefix("10.0.1.2/32")})
		}, want: "timeout"},
		{name: "the wrong reverse path, strict", change: func(_, r, _ *plan.Netns) {
			r.Routes = append(r.Routes, plan.Route{To: netip.MustParsePrefix("10.0.1.2/32"), Dev: "b"})
			setSysctl(r, "net.ipv4.conf.all.rp_filter", "1")
		}, want: "timeout"},
		{name: "a wrong neighbour entry", change: func(a, _, _ *plan.Netns) {
			a.Neighs = append(a.Neighs, plan.Neigh{Link: "eth0", Addr: netip.MustParseAddr("10.0.1.1"), MAC: [6]byte{2, 9, 9, 9, 9, 9}})
		}, want: "timeout"},
		{name: "a router on the link by proxy ARP", change: func(a, r, _ *plan.Netns) {
			a.Routes = []plan.Route{{To: netip.MustParsePrefix("10.0.2.0/24"), Dev: "eth0"}}
			setSysctl(r, "net.ipv4.conf.a.proxy_arp", "1")
		}, want: "b from a"},
		{name: "a blackhole at the router", change: refusing(plan.Blackhole, "10.0.2.0/25"), want: "timeout"},
		{name: "a blackhole at the router, datagram", change: refusing(plan.Blackhole, "10.0.2.0/25"), proto: flow.UDP, want: "timeout"},
		{name: "an unreachable route at the router", change: refusing(plan.Unreachable, "10.0.2.0/25"), want: "unreachable"},
		{name: "a blackhole around a route", change: refusing(plan.Blackhole, "10.0.0.0/16"), want: "b from a"},
		{name: "a blackhole of the sender itself", from: "node.r", change: refusing(plan.Blackhole, "10.0.2.0/25"), want: "unreachable"},
		{name: "an unreachable route of the sender itself", from: "node.r", change: refusing(plan.Unreachable, "10.0.2.0/25"), want: "unreachable"},
		{name: "a blackhole back to the source, strict", change: func(a, r, b *plan.Netns) {
			refusing(plan.Blackhole, "10.0.1.0/25")(a, r, b)
			setSysctl(r, "net.ipv4.conf.all.rp_filter", "1")
		}, want: "timeout"},
		{name: "policy for replies", change: func(_, r, _ *plan.Netns) {
			rules(r, "filter", "FORWARD", rule(iptables.Accept{}, iptables.InIf{Name: "a"}))
			r.Tables[0].Chains[0].Policy = "DROP"
		}, want: "timeout"},
	}
}

func (r row) flow() flow.Flow {
	f := flow.Flow{From: "client.a", To: addrPort("10.0.2.2:80"), Protocol: flow.TCP, Within: r.within}
	if r.from != "" {
		f.From = r.from
	}
	if r.to != "" {
		f.To = addrPort(r.to)
	}
	if r.proto != "" {
		f.Protocol = r.proto
	}
	return f
}

func (r row) plan() *plan.Plan {
	p := routed()
	if r.change != nil {
		r.change(&p.Netns[1], &p.Netns[0], &p.Netns[2])
	}
	p.Sort()
	return p
}

// tunnelAt gives b a VXLAN device.
func tunnelAt(port int, local string) func(a, r, b *plan.Netns) {
	return func(_, _, b *plan.Netns) {
		own := netip.MustParseAddr(local)
		b.Links = append(b.Links, plan.Link{Name: "vxlan.1", Type: plan.VXLAN,
			VXLAN: plan.VXLANAttrs{ID: 1, Port: port, Local: own, Dev: "eth0"}})
		b.IPv6 = own.Is6()
	}
}

// localRoute makes an address local to the router by a route, and gives it others.
func localRoute(to string, addrs ...string) func(a, r, b *plan.Netns) {
	return func(_, r, _ *plan.Netns) {
		dst := netip.MustParsePrefix(to)
		r.Routes = append(r.Routes, plan.Route{To: dst, Dev: "lo", Local: true})
		for _, text := range addrs {
			link, prefix, _ := strings.Cut(text, " ")
			r.Addrs = append(r.Addrs, plan.Addr{Link: link, Prefix: netip.MustParsePrefix(prefix)})
		}
		r.IPv6 = r.IPv6 || dst.Addr().Is6()
	}
}

func TestRows(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			p := r.plan()
			got := walk.New(p).Walk(r.flow())
			var parts []string
			for _, e := range got.Results() {
				part := string(e.Value.Outcome)
				if e.Value.Outcome == flow.Connected {
					part = e.Value.Answer + " from " + strings.NewReplacer("10.0.1.2", "a").Replace(e.Value.Source.String())
				}
				parts = append(parts, part)
			}
			slices.Sort(parts)
			if text := strings.Join(parts, ", "); text != r.want {
				t.Errorf("got %s, want %s\n%s", text, r.want, render.Text(got, render.Full))
			}
		})
	}
}
