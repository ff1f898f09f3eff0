package suite_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
)

// damages are commands that break a namespace, or that leave something in it. Words with a
// dollar sign stand for something of the namespace, chosen at random (see choices).
var damages = []string{
	// Links.
	"ip link set dev $link down",
	"ip link set dev $link mtu 1000",
	"ip link set dev $link mtu 1290",
	"ip link set dev $link arp off",
	"ip link set dev $link multicast off",
	"ip link set dev $link promisc on",
	"ip link set dev $link allmulticast on",
	"ip link set dev $link broadcast 02:99:00:00:00:02",
	"ip link set dev $veth protodown on",
	"ip link set dev $link address 02:99:00:00:00:02",
	"ip link set dev $link address $anymac",
	"ip link set dev $link mode dormant",
	"ip link set dev $link mode dormant && ip link set dev $link down && ip link set dev $link up",
	"ip link set dev $link gso_max_size 1000 gso_max_segs 1",
	"ip link set dev $link group 5",
	"ip link set dev $virtual carrier off",
	"ip link set dev $tunnel type vxlan ttl 1",
	"ip link set dev $tunnel type vxlan tos 1 df set",
	"ip link delete dev $tunnel && ip link add foo type vxlan id $vni dstport $vport dev lo",
	"ip link delete dev $tunnel && ip link add foo type vxlan external dstport $vport && ip link add $tunnel type vxlan id 77 dstport $vport dev lo",
	"ip link delete dev $tunnel && ip link add $tunnel type dummy",
	"ip link set dev $port nomaster && ip link add link $port name evil type macvlan && ip link set dev evil up",
	"ip link set dev $port nomaster",
	"ip link set dev $link down && ip link set dev $link name foo && ip link set dev foo up",
	"ip link set dev $virtual down && ip link set dev $virtual name foo && ip link set dev foo up",
	"ip link set dev $virtual name bar",
	"ip link delete dev $link",
	"ip link delete dev $virtual",
	"ip link delete dev $link && ip link add $link type bridge && ip link set dev $link up",
	"ip link set dev lo down",
	"ip link set dev lo mtu 70",
	"ip link property add dev $link altname other0",
	"ip link delete dev $link && ip link property add dev lo altname $link",
	"ip link add evil type bridge && ip address add $ip/32 dev evil && ip link set dev evil up",
	"ip link add evil type bridge && ip link set dev evil up && ip link set dev $link master evil",
	"ip link add link $veth name evil type vlan id 5 && ip link set dev evil up",
	"ip link add link $veth name evil type macvlan && ip link set dev evil up",
	"ip link add evil type vrf table 5 && ip link set dev evil up && ip link set dev $link master evil",

	// Addresses.
	"ip address delete $address dev $addressed",
	"ip address flush dev $link",
	"ip address add $ip/32 dev lo",
	"ip address add $ip/24 dev $link",
	"ip address change $address dev $addressed preferred_lft 0",
	"ip address change $address dev $addressed valid_lft 30 preferred_lft 20",
	"ip address delete $address dev $addressed && ip address add $address dev $addressed scope link",
	"ip address delete $address dev $addressed && ip address add $address dev $addressed noprefixroute",
	"ip address delete $address dev $addressed && ip address add $address dev $link",
	"ip address delete 127.0.0.1/8 dev lo",
	"ip -6 address flush dev lo",
	"ip -6 address flush dev $link scope link",
	"ip -6 address add fe80::bad/64 dev $link",

	// Routes.
	"ip route delete $connected proto kernel",
	"ip -6 route delete $connected proto kernel",
	"ip route delete local $own table local",
	"ip -6 route delete local $own table local",
	"ip route delete $to",
	"ip route replace blackhole $to",
	"ip route append blackhole $to",
	"ip route prepend blackhole $to",
	"ip route replace $to dev lo",
	"ip -6 route replace $to dev lo",
	"ip -6 route add blackhole $to metric 5",
	"ip route add blackhole $ip",
	"ip route add unreachable $ip",
	"ip route add prohibit $ip",
	"ip route add throw $ip",
	"ip route add blackhole $ip proto kernel",
	"ip route add local $ip dev lo",
	"ip route add $ip dev $link",
	"ip route add $ip dev $link metric 7",
	"ip route add broadcast $ip dev $link table local",
	"ip route add blackhole default metric 5",
	"ip route add 0.0.0.0/1 dev lo",
	"ip -6 route add blackhole ::/1",
	"ip route flush table main",
	"ip route flush table local",
	"ip -6 route flush table main",
	"ip -6 route flush table local",
	"ip nexthop add id 7 blackhole && ip route add $ip nhid 7",
	"ip route add blackhole default table 7 && ip rule add pref 5 table 7",
	"ip route add blackhole $ip table default",

	// Routing rules.
	"ip rule add pref 5 to $ip blackhole",
	"ip rule add pref 5 from $ip unreachable",
	"ip rule add pref 5 prohibit",
	"ip rule add pref 0 lookup main",
	"ip -6 rule add pref 5 blackhole",
	"ip rule delete pref 32766",
	"ip rule delete pref 0",
	"ip -6 rule delete pref 32766",
	"ip -6 rule delete pref 0",
	"ip rule flush && ip rule delete pref 0",
	"ip rule delete pref 32766 && ip rule add pref 32766 iif lo lookup main",

	// Neighbours and forwarding entries.
	"ip neigh replace $ip lladdr 02:99:00:00:00:03 dev $link nud permanent",
	"ip neigh replace $ip lladdr 02:99:00:00:00:03 dev $link nud noarp",
	"ip neigh add proxy $ip dev $link",
	"ip neigh replace $ip lladdr 02:99:00:00:00:03 dev $link nud reachable",
	"ip neigh replace $ip lladdr $anymac dev $link nud stale",
	"ip neigh replace $ip lladdr $anymac dev $link nud reachable extern_learn",
	"ip neigh delete $neighbour",
	"bridge fdb flush dev $tunnel",
	"bridge fdb delete $entry",
	"bridge fdb append $entry dst 192.0.2.1",
	"bridge fdb replace 00:00:00:00:00:00 dev $tunnel dst 192.0.2.1 self permanent",
	"bridge fdb replace $mac dev $port master static",
	"bridge fdb replace $anymac dev $port master dynamic",
	"bridge fdb replace $anymac dev $port master dynamic extern_learn",
	"bridge fdb replace $anymac dev $tunnel dst 192.0.2.1 self dynamic",

	// Bridges and their ports.
	"for p in $ports; do bridge link set dev $p isolated on; done",
	"bridge link set dev $port learning off flood off",
	"bridge link set dev $port hairpin off",
	"bridge link set dev $port hairpin on",
	"bridge link set dev $port state 0",
	"bridge link set dev $port state 4",
	"bridge link set dev $port neigh_suppress on bcast_flood off",
	"bridge link set dev $port locked on",
	"bridge link set dev $port guard on root_block on",
	"for p in $ports; do bridge link set dev $p backup_port $port; done",
	"bridge link set dev $port mcast_router 0 mcast_flood off",
	"bridge mdb add dev $bridge port $port grp 239.1.1.1 permanent",
	"bridge mdb add dev $bridge port $port grp ff02::1:ff00:2 permanent && ip link set dev $bridge type bridge mcast_querier 1",
	"ip link set dev $bridge type bridge ageing_time 0 no_linklocal_learn 1",
	"ip link set dev $bridge type bridge vlan_filtering 1 && bridge vlan delete vid 1 dev $port",
	"ip link set dev $bridge type bridge stp_state 1",
	"ip link set dev $bridge type bridge nf_call_iptables 1 mcast_snooping 0",

	// Settings.
	"sysctl -qw net.ipv4.conf.$slashed.forwarding=0",
	"sysctl -qw net.ipv4.ip_forward=0",
	"sysctl -qw net.ipv4.ip_forward=1",
	"sysctl -qw net.ipv6.conf.all.forwarding=0",
	"sysctl -qw net.ipv6.conf.all.forwarding=1",
	"sysctl -qw net.ipv6.conf.$slashed.forwarding=0",
	"sysctl -qw net.ipv4.conf.all.rp_filter=1",
	"sysctl -qw net.ipv4.conf.$slashed.rp_filter=1",
	"sysctl -qw net.ipv4.conf.$slashed.arp_ignore=8",
	"sysctl -qw net.ipv4.conf.all.arp_ignore=8",
	"sysctl -qw net.ipv4.conf.$slashed.arp_announce=2 net.ipv4.conf.$slashed.arp_filter=1",
	"sysctl -qw net.ipv4.conf.$slashed.proxy_arp=1",
	"sysctl -qw net.ipv4.conf.all.accept_local=1",
	"sysctl -qw net.ipv4.conf.all.route_localnet=1",
	"sysctl -qw net.ipv6.conf.$slashed.disable_ipv6=1",
	"sysctl -qw net.ipv6.conf.all.disable_ipv6=1",
	"sysctl -qw net.ipv6.conf.$slashed.hop_limit=1",
	"sysctl -qw net.ipv6.conf.$slashed.mtu=1280",
	"sysctl -qw net.ipv4.ip_default_ttl=1",
	"sysctl -qw net.ipv4.icmp_echo_ignore_all=1",
	"sysctl -qw net.bridge.bridge-nf-call-iptables=0",
	"sysctl -qw net.bridge.bridge-nf-call-ip6tables=1 net.bridge.bridge-nf-call-arptables=1",
	"sysctl -qw net.ipv4.neigh.$slashed.mcast_solicit=0",
	"sysctl -qw net.ipv4.neigh.$slashed.unres_qlen_bytes=0",
	"sysctl -qw net.ipv6.neigh.$slashed.mcast_solicit=0",
	"sysctl -qw net.ipv4.ip_local_port_range='1024 1025'",
	"sysctl -qw net.ipv4.icmp_ratelimit=100000",
	"sysctl -qw net.ipv4.tcp_rmem='4096 4096 4096' net.ipv4.tcp_wmem='4096 4096 4096'",
	"sysctl -qw net.ipv4.tcp_abort_on_overflow=1 net.ipv4.ip_no_pmtu_disc=3",
	"sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_syn_sent=0",
	"sysctl -qw net.netfilter.nf_conntrack_udp_timeout=0",
	"sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=1 net.netfilter.nf_conntrack_tcp_loose=0",

	// Traffic control.
	"tc qdisc replace dev $link root netem loss 100%",
	"tc qdisc replace dev $link root netem delay 50ms",
	"tc qdisc replace dev $link root pfifo limit 1",
	"tc qdisc replace dev $link root tbf rate 1kbit burst 100 limit 100",
	"tc qdisc add dev $link clsact && tc filter add dev $link ingress matchall action drop",
	"tc qdisc add dev $link ingress && tc filter add dev $link ingress matchall action drop",
	"tc qdisc add dev $link handle 1: root prio && tc filter add dev $link parent 1: matchall action drop",

	// nf_tables.
	"nft 'table inet foreign { chain c { type filter hook input priority 0; drop; }; }'",
	"nft 'table inet foreign { chain c { type filter hook forward priority -300; drop; }; }'",
	"nft 'table ip foreign { chain c { type filter hook output priority 0; policy drop; }; }'",
	"nft 'table netdev foreign { chain c { type filter hook ingress device \"$link\" priority 0; drop; }; }'",
	"nft 'table bridge foreign { chain c { type filter hook forward priority 0; drop; }; }'",
	"nft 'table arp foreign { chain c { type filter hook input priority 0; drop; }; }'",
	"nft 'table ip foreign { chain c { type nat hook output priority -200; dnat to 192.0.2.1; }; }'",
	"nft 'table ip raw { chain odd { type filter hook prerouting priority -300; ct zone set 7; }; }'",
	"nft 'table ip filter { chain odd { type filter hook forward priority -5; drop; }; }'",
	"nft 'table ip nat { chain odd { type filter hook forward priority -5; drop; }; }'",
	"nft 'table netdev filter { chain c { type filter hook ingress device \"$link\" priority 0; drop; }; }'",
	"nft 'table inet foreign { chain c { type filter hook prerouting priority -300; notrack; }; }'",
	"nft 'table inet foreign { flowtable f { hook ingress priority 0; devices = { $link }; }; chain c { type filter hook forward priority 0; flow add @f; }; }'",
	"ebtables -A FORWARD -j DROP",
	"ebtables -A INPUT -j DROP",
	"ebtables -P OUTPUT DROP",
	"ebtables -t nat -A PREROUTING -j DROP",
	"arptables -A INPUT -j DROP",
	"nft flush ruleset",
	"nft flush table $table",
	"nft delete table $table",
	"nft 'add table $table { flags dormant; }'",
	"nft flush chain $chain",
	"nft insert rule $chain drop",
	"nft 'add chain $table odd { type filter hook forward priority 0; policy drop; }'",
	"nft add rule $chain counter",

	// iptables.
	"iptables -I INPUT -j DROP",
	"iptables -I FORWARD -j DROP",
	"iptables -P OUTPUT DROP",
	"iptables -P FORWARD DROP",
	"iptables -t nat -F",
	"iptables -t nat -F $nat",
	"iptables -t nat -I PREROUTING -j DNAT --to-destination 192.0.2.1",
	"iptables -t raw -I PREROUTING -j CT --zone 7",
	"iptables -t raw -I PREROUTING -j NOTRACK",
	"iptables -t mangle -I PREROUTING -j MARK --set-mark 0x8000",
	"iptables -t mangle -I FORWARD -j DROP",
	"iptables -t security -I INPUT -j DROP",
	"iptables -N FOREIGN && iptables -I INPUT -j FOREIGN",
	"ip6tables -I FORWARD -j DROP",
	"ip6tables -I INPUT -j DROP",
	"iptables-legacy -I INPUT -j DROP",
	"iptables-legacy -P FORWARD DROP",
	"ip6tables-legacy -I INPUT -j DROP",

	// Sets.
	"ipset flush $set",
	"ipset destroy $set",
	"ipset create foreign hash:ip && ipset add foreign $ip",
	"ipset del $set $member",
	"ipset create foreign hash:net && ipset add foreign 0.0.0.0/1 && ipset add foreign $ip nomatch && iptables -I INPUT -m set --match-set foreign src -j DROP",
	"ipset create foreign list:set && ipset add foreign $set && iptables -I OUTPUT -m set --match-set foreign dst -j DROP",
	"iptables -F && iptables -t nat -F && iptables -t mangle -F && ipset destroy $set && ipset create $set bitmap:port range 0-9 && iptables -I FORWARD -m set --match-set $set dst -j DROP",
	"nft flush ruleset && ipset destroy $set && ipset create $set list:set && iptables -A FORWARD -m set --match-set $set src -j DROP",
	"ipset add $set $ip nomatch",
	"ipset create foreign hash:ip,port timeout 60",

	// IPsec.
	"ip xfrm policy add src 0.0.0.0/0 dst $ip dir out action block",
	"ip xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir in action block",
	"ip xfrm policy add src 0.0.0.0/0 dst 0.0.0.0/0 dir fwd action block priority 7",
	"ip xfrm policy setdefault in block",
	"ip xfrm state flush",
	"ip xfrm policy flush",
	"ip xfrm policy setdefault out block fwd block",
	"ip xfrm state add src 192.0.2.1 dst $ip proto ipcomp spi 0x77 mode tunnel comp deflate",
}

// choices are what the words of damages can stand for in a namespace.
func choices(p *plan.Plan, n *plan.Netns) map[string][]string {
	c := map[string][]string{}
	add := func(word, format string, args ...any) { c[word] = append(c[word], fmt.Sprintf(format, args...)) }
	for i := range n.Links {
		l := &n.Links[i]
		add("link", "%s", l.Name)
		add("slashed", "%s", strings.ReplaceAll(l.Name, ".", "/"))
		switch l.Type {
		case plan.Veth:
			add("veth", "%s", l.Name)
		case plan.Bridge:
			add("bridge", "%s", l.Name)
			add("virtual", "%s", l.Name)
		case plan.VXLAN:
			add("tunnel", "%s", l.Name)
			add("vni", "%d", l.VXLAN.ID)
			add("vport", "%d", l.VXLAN.Port)
			add("virtual", "%s", l.Name)
		default:
			add("virtual", "%s", l.Name)
		}
		if l.Master != "" {
			add("port", "%s", l.Name)
		}
		if l.MAC != (plan.MAC{}) {
			add("mac", "%s", l.MAC)
		}
	}
	if ports := c["port"]; len(ports) > 0 {
		c["ports"] = []string{strings.Join(ports, " ")}
	}
	for i := range n.Routes {
		r := &n.Routes[i]
		add("to", "%s", r.To)
	}
	for i := range n.Neighs {
		add("neighbour", "%s dev %s", n.Neighs[i].Addr, n.Neighs[i].Link)
	}
	for i := range n.FDB {
		add("entry", "%s dev %s", n.FDB[i].MAC, n.FDB[i].Link)
	}
	for i := range n.NFT {
		t := &n.NFT[i]
		add("table", "%s %s", t.Family, t.Name)
		for k := range t.Chains {
			add("chain", "%s %s %s", t.Family, t.Name, t.Chains[k].Name)
		}
	}
	for i := range n.Tables {
		if t := &n.Tables[i]; t.Name == "nat" && !t.IPv6 {
			for k := range t.Chains {
				add("nat", "%s", t.Chains[k].Name)
			}
		}
	}
	for i := range p.Netns {
		for _, l := range p.Netns[i].Links {
			if l.MAC != (plan.MAC{}) {
				add("anymac", "%s", l.MAC)
			}
		}
		for _, a := range p.Netns[i].Addrs {
			if a.Prefix.Addr().Is4() {
				add("ip", "%s", a.Prefix.Addr())
			}
		}
	}
	return c
}

var dollar = regexp.MustCompile(`\$[a-z]+`)

// damage is a random damage of a namespace of a plan; empty: the namespace lacks what it is
// about.
func damage(d *rand.Rand, p *plan.Plan, n *plan.Netns) string {
	template := damages[d.IntN(len(damages))]
	c, chosen := choices(p, n), map[string]string{}
	if len(n.Addrs) > 0 { // words that belong together
		a := n.Addrs[d.IntN(len(n.Addrs))]
		chosen["$address"], chosen["$addressed"] = a.Prefix.String(), a.Link
		chosen["$own"], chosen["$connected"] = a.Prefix.Addr().String(), a.Prefix.Masked().String()
	}
	if len(n.Sets) > 0 {
		s := &n.Sets[d.IntN(len(n.Sets))]
		chosen["$set"] = s.Name
		if members := s.Members(); len(members) > 0 {
			chosen["$member"] = members[d.IntN(len(members))]
		}
	}
	whole := true
	out := dollar.ReplaceAllStringFunc(template, func(word string) string {
		if word == "$p" {
			return word
		}
		if _, ok := chosen[word]; !ok {
			list := c[word[1:]]
			if len(list) == 0 {
				whole = false
				return ""
			}
			chosen[word] = list[d.IntN(len(list))]
		}
		return chosen[word]
	})
	if !whole || slices.Contains(strings.Fields(out), "$") {
		return ""
	}
	return out
}
