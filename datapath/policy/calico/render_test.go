package calico

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// felixRendered are the rules of the policy in TestPeersAndPortsAreRenderedAsFelixDoes, as the
// renderer of Felix 3.21 gave them for the same rules of Calico: chain, hash, and the rule in
// Felix's words, of which the hash is one.
const felixRendered = `
cali-pi CqNj-Y_qs2kQW_o7 --jump MARK --set-mark 0x0/0xc0000
cali-pi k8nmloK_g4hW863F -p tcp -m multiport --destination-ports 8080:8081 --jump MARK --set-mark 0x40000/0x40000
cali-pi A00ZE5DPHhvKWFlx -m set --match-set cali40n:cl9_Kgeu4H0OGLbhovVR3NB dst,dst --jump MARK --set-mark 0x40000/0x40000
cali-pi jRCg0XlujaJlqobi -p tcp -m set --match-set cali40s:UXWoMNg3bPVLevIU0aHjpe2 src -m mark --mark 0x40000/0x40000 --jump MARK --set-mark 0x10000/0x10000
cali-pi p-SIJZ_d751CnqA2 -m mark --mark 0x10000/0x10000 --jump RETURN
cali-pi hs0nhoJC_wgpYL6Z --jump MARK --set-mark 0x0/0xc0000
cali-pi mwSKBmugbNfR-urn -p tcp -m multiport --destination-ports 8080:8081 --jump MARK --set-mark 0x40000/0x40000
cali-pi 3JwjGxFje8QCx8kM -m set --match-set cali40n:cl9_Kgeu4H0OGLbhovVR3NB dst,dst --jump MARK --set-mark 0x40000/0x40000
cali-pi PiRYm0CGFLkUh-wD --source 192.168.0.128/25 --jump MARK --set-mark 0/0x40000
cali-pi fHJf5YoqSqo7VvPG --source 192.168.1.0/24 --jump MARK --set-mark 0/0x40000
cali-pi _hqe68jnxY-sTIcW -p tcp --source 192.168.0.0/16 -m mark --mark 0x40000/0x40000 --jump MARK --set-mark 0x10000/0x10000
cali-pi 4IMRDxByH2YEq-qA -m mark --mark 0x10000/0x10000 --jump RETURN
cali-pi vAwbdxUKWwuM5nzK -p udp -m set --match-set cali40s:UXWoMNg3bPVLevIU0aHjpe2 src -m set --match-set cali40n:wBUuGT_s8isCYKpah3eXsbd dst,dst --jump MARK --set-mark 0x10000/0x10000
cali-pi ilf0F3nRq_lGjeS6 -m mark --mark 0x10000/0x10000 --jump RETURN
cali-pi AOuvBJ55wwCSK1ba --jump MARK --set-mark 0x40000/0xc0000
cali-pi U6bVo7xlQvjhKkcP --source 192.168.0.128/25 --jump MARK --set-mark 0/0x40000
cali-pi 7T9PTD3e3OdzkiOD --source 192.168.1.0/24 --jump MARK --set-mark 0/0x40000
cali-pi KjDN5b9wZrWAYv-O -p udp --source 192.168.0.0/16 -m set --match-set cali40n:wBUuGT_s8isCYKpah3eXsbd dst,dst -m mark --mark 0x40000/0x40000 --jump MARK --set-mark 0x10000/0x10000
cali-pi -jXA6fcyXmszJFXw -m mark --mark 0x10000/0x10000 --jump RETURN
cali-pi YUPO8jmHvcKhE8sy --jump MARK --set-mark 0x0/0xc0000
cali-pi 2TZ6OOjzntjh0JjI -p tcp -m multiport --destination-ports 1,3,5,7,9,11,13,15,17,19,21,23,25,27 --jump MARK --set-mark 0x40000/0x40000
cali-pi 98BzQF0vrsaP2KAQ -p tcp -m multiport --destination-ports 29:40 --jump MARK --set-mark 0x40000/0x40000
cali-pi QGtYOJ2h9tJ0wU0w -p tcp -m mark --mark 0x40000/0x40000 --jump MARK --set-mark 0x10000/0x10000
cali-pi Bhp8iZFbC6is_2Ze -m mark --mark 0x10000/0x10000 --jump RETURN
cali-pi 6bFZlK2hi0KSqXNe -p udp --source 10.0.0.0/8 --jump MARK --set-mark 0x10000/0x10000
cali-pi JRZwxCYixptoKT-9 -m mark --mark 0x10000/0x10000 --jump RETURN
cali-po pU5fY8vTIw6LgY_r -p tcp -m set --match-set cali40n:arbM7-yTRwlnySBm8Y6OMco dst,dst --jump MARK --set-mark 0x10000/0x10000
cali-po J2cQF2L6L5zL_siA -m mark --mark 0x10000/0x10000 --jump RETURN
cali-po xeiFj9MehsRpNtey --jump MARK --set-mark 0x0/0xc0000
cali-po hgXO0SIrIVw_PP5t -p tcp -m multiport --destination-ports 53 --jump MARK --set-mark 0x40000/0x40000
cali-po -_IQYNzfBu1NCJlo -m set --match-set cali40n:arbM7-yTRwlnySBm8Y6OMco dst,dst --jump MARK --set-mark 0x40000/0x40000
cali-po H2sFIjnXiWqC92Fm -p tcp -m set --match-set cali40s:UXWoMNg3bPVLevIU0aHjpe2 dst -m mark --mark 0x40000/0x40000 --jump MARK --set-mark 0x10000/0x10000
cali-po Aux7bT_njmuNmhcR -m mark --mark 0x10000/0x10000 --jump RETURN
cali-po 5RZU-EL7rGBaixFV --jump MARK --set-mark 0x40000/0xc0000
cali-po zOiEiuREMAATw4OR --destination 10.0.0.0/8 --jump MARK --set-mark 0/0x40000
cali-po VVG6YcgJx60AgrQW --destination 0.0.0.0/0 -m mark --mark 0x40000/0x40000 --jump MARK --set-mark 0x10000/0x10000
cali-po CCCC0F4kU4o5dHOO -m mark --mark 0x10000/0x10000 --jump RETURN
`

// Each peer and protocol has a rule of its own; several kinds of ports, and the exceptions of a
// block, come before it and leave a mark.
func TestPeersAndPortsAreRenderedAsFelixDoes(t *testing.T) {
	lab := &topology.Lab{Network: topology.Network{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.88.0.0/16")}}}
	node := &topology.Node{Name: "n"}
	for i, name := range []string{"a", "b"} {
		p := &topology.Pod{Name: name, Namespace: "default", Node: node, HostLink: "cali" + name, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 88, 0, byte(i + 1)})},
			Ports: []topology.Port{{Name: "http", Number: 80, Protocol: topology.TCP}, {Name: "dns", Number: 53, Protocol: topology.UDP}}}
		node.Pods, lab.Pods = append(node.Pods, p), append(lab.Pods, p)
	}
	lab.Nodes = []*topology.Node{node}
	number := func(proto topology.Protocol, first, last uint16) topology.PolicyPort {
		return topology.PolicyPort{Protocol: proto, First: first, Last: last}
	}
	named := func(proto topology.Protocol, name string) topology.PolicyPort {
		return topology.PolicyPort{Protocol: proto, Name: name}
	}
	block := func(cidr string, except ...string) topology.PolicyPeer {
		p := topology.PolicyPeer{Block: netip.MustParsePrefix(cidr)}
		for _, e := range except {
			p.Except = append(p.Except, netip.MustParsePrefix(e))
		}
		return p
	}
	pods := topology.PolicyPeer{Pods: lab.Pods[:1], PodSelector: topology.SelectorSpec{Set: true, MatchLabels: map[string]string{"app": "a"}}}
	odd := []topology.PolicyPort{number(topology.TCP, 29, 40)}
	for n := uint16(27); n > 2; n -= 2 {
		odd = append(odd, number(topology.TCP, n, n))
	}
	odd = append(odd, number(topology.TCP, 1, 1))
	lab.Policies = []*topology.Policy{{Name: "p", Namespace: "default", Pods: lab.Pods[1:],
		Ingress: topology.Direction{Isolates: true, Rules: []topology.PolicyRule{
			{Peers: []topology.PolicyPeer{pods, block("192.168.0.0/16", "192.168.0.128/25", "192.168.1.0/24"), block("fd00::/64")},
				Ports: []topology.PolicyPort{named(topology.UDP, "dns"), named(topology.TCP, "http"), number(topology.TCP, 8081, 8081), number(topology.TCP, 8080, 8080)}},
			{Ports: odd},
			{Peers: []topology.PolicyPeer{block("10.0.0.0/8")}, Ports: []topology.PolicyPort{number(topology.UDP, 53, 53), number(topology.UDP, 0, 65535)}},
		}},
		Egress: topology.Direction{Isolates: true, Rules: []topology.PolicyRule{
			{Peers: []topology.PolicyPeer{pods}, Ports: []topology.PolicyPort{named(topology.TCP, "http")}},
			{Peers: []topology.PolicyPeer{pods}, Ports: []topology.PolicyPort{named(topology.TCP, "http"), number(topology.TCP, 53, 53)}},
			{Peers: []topology.PolicyPeer{block("0.0.0.0/0", "10.0.0.0/8")}},
		}},
	}}
	n, err := compile(policy.Views(lab)[0])
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, prefix := range []string{"cali-pi-", "cali-po-"} {
		for _, c := range n.Tables[0].Chains {
			for i := range c.Rules {
				if strings.HasPrefix(c.Name, prefix) {
					hash := c.Rules[i].Matches[0].(iptables.Comment).Text
					got = append(got, prefix[:7]+" "+strings.TrimPrefix(hash, "cali:"))
				}
			}
		}
	}
	for line := range strings.Lines(strings.TrimSpace(felixRendered)) {
		want = append(want, strings.Join(strings.Fields(line)[:2], " "))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-Felix +got:\n%s", d)
	}
	var sets []string
	for _, s := range n.Sets {
		sets = append(sets, s.Name)
	}
	slices.Sort(sets)
	if want := []string{"cali40n:arbM7-yTRwlnySBm8Y6OMco", "cali40n:cl9_Kgeu4H0OGLbhovVR3NB", "cali40n:wBUuGT_s8isCYKpah3eXsbd", "cali40s:UXWoMNg3bPVLevIU0aHjpe2"}; !slices.Equal(sets, want) {
		t.Errorf("sets %q, want %q", sets, want)
	}
}

// The hashes are those of every cluster of Calico that has tunnels of this kind.
func TestTunnelsAreForNodes(t *testing.T) {
	lab := database()
	lab.Network.Mode = topology.NetworkMode{PodRoutes: true, PodLinks: "cali", Tunnel: topology.IPIPTunnel}
	lab.Nodes[0].Addrs = []netip.Addr{netip.MustParseAddr("192.168.0.10")}
	n, err := compile(policy.Views(lab)[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range n.Tables[0].Chains {
		for i := range c.Rules {
			if c.Name == input {
				got = append(got, c.Rules[i].Save())
			}
		}
	}
	want := []string{
		`-p ipencap -m comment --comment "cali:PajejrV4aFdkZojI" -m comment --comment "Allow IPIP packets from Calico hosts" -m set --match-set cali40all-hosts-net src -m addrtype --dst-type LOCAL -j ACCEPT`,
		`-p ipencap -m comment --comment "cali:_wjq-Yrma8Ly1Svo" -m comment --comment "Drop IPIP packets from non-Calico hosts" -j DROP`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
