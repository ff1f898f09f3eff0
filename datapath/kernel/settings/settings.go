//go:build linux

package settings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/kernel/procfs"
	"github.com/netlab/netlab/datapath/plan"
)

// confSetting is one of net.ipv4.conf or net.ipv6.conf, with its number (include/uapi/linux/ip.h,
// include/uapi/linux/ipv6.h).
type confSetting struct {
	number int
	name   string
}

var (
	inetSettings = []confSetting{{0, "forwarding"}, {2, "proxy_arp"}, {3, "accept_redirects"}, {4, "secure_redirects"}, {5, "send_redirects"}, {6, "shared_media"}, {7, "rp_filter"}, {8, "accept_source_route"},
		{12, "arp_filter"}, {13, "medium_id"}, {14, "disable_xfrm"}, {15, "disable_policy"}, {17, "arp_announce"}, {18, "arp_ignore"}, {19, "promote_secondaries"}, {20, "arp_accept"},
		{22, "accept_local"}, {23, "src_valid_mark"}, {24, "proxy_arp_pvlan"}, {25, "route_localnet"}, {28, "ignore_routes_with_linkdown"},
		{29, "drop_unicast_in_l2_multicast"}, {30, "drop_gratuitous_arp"}, {31, "bc_forwarding"}}
	inet6Settings = []confSetting{{0, "forwarding"}, {1, "hop_limit"}, {3, "accept_ra"}, {4, "accept_redirects"}, {5, "autoconf"}, {22, "proxy_ndp"}, {24, "accept_source_route"},
		{26, "disable_ipv6"}, {32, "suppress_frag_ndisc"}, {37, "use_oif_addrs_only"}, {39, "ignore_routes_with_linkdown"}, {40, "drop_unicast_in_l2_multicast"}, {41, "drop_unsolicited_na"}, {44, "seg6_enabled"}, {48, "disable_policy"}}
)

// Link is a link with its settings, as net.ipv4.conf and net.ipv6.conf have them, each by its
// number.
type Link struct {
	Name        string
	Kind        plan.LinkType // empty for lo
	MTU         uint32
	Inet, Inet6 []uint32
}

// OfLink notes the settings of a link that are neither as planned nor those of a new namespace.
func OfLink(d deviations.List, x Link, want *plan.Netns, fresh *Pristine) {
	var driver map[string]bool
	if x.Kind == plan.WireGuard {
		driver = map[string]bool{"send_redirects": false} // wg_open in drivers/net/wireguard/device.c
	}
	family(d, "net.ipv4", x, x.Inet, fresh.inet, inetSettings, want, driver)
	family(d, "net.ipv6", x, x.Inet6, fresh.inet6, inet6Settings, want, map[string]bool{"disable_ipv6": !want.IPv6})
	multicast(d, x)
	if want.IPv6 && len(x.Inet6) > mtu6 && x.Inet6[mtu6] < x.MTU && x.Kind != "" {
		d.Sysctl("net.ipv6.conf."+slashed(x.Name)+".mtu", fmt.Sprint(x.Inet6[mtu6]), fmt.Sprint(x.MTU))
	}
}

// mtu6 is the number of net.ipv6.conf.*.mtu.
const mtu6 = 2

// family is OfLink for one of the families. What is known is so whatever the namespace's default.
func family(d deviations.List, tree string, x Link, have, fresh []uint32, table []confSetting, want *plan.Netns, known map[string]bool) {
	for _, s := range table {
		noIPsec := s.name == "disable_xfrm" || s.name == "disable_policy" // on lo it is disabled
		if s.number >= min(len(have), len(fresh)) || noIPsec && x.Kind == "" {
			continue
		}
		is, should := strconv.Itoa(int(int32(have[s.number]))), strconv.Itoa(int(int32(fresh[s.number])))
		if noIPsec {
			should = "0"
		}
		key := func(of string) string { return tree + ".conf." + of + "." + s.name }
		if len(want.Sysctls) > 0 {
			if value, ok := setTo(want, key("default")); ok && x.Kind != "" {
				should = value
			}
			if s.name == "forwarding" { // it sets that of all links, and their default
				if value, ok := setTo(want, key("all")); ok {
					should = value
				}
				if value, ok := setTo(want, "net.ipv4.ip_forward"); ok && tree == "net.ipv4" {
					should = value
				}
			}
		}
		if on, ok := known[s.name]; ok {
			should = map[bool]string{true: "1", false: "0"}[on]
		}
		if is == should {
			continue
		}
		own := key(slashed(x.Name))
		if _, ok := setTo(want, own); !ok {
			d.Sysctl(own, is, should)
		}
	}
}

// setTo is what a plan sets a setting to.
func setTo(want *plan.Netns, key string) (value string, ok bool) {
	for i := range want.Sysctls {
		if want.Sysctls[i].Key == key {
			return want.Sysctls[i].Value, true
		}
	}
	return "", false
}

// slashed is the name of a link in the key of a setting, as sysctl(8) has it.
func slashed(name string) string { return strings.NewReplacer(".", "/", "/", ".").Replace(name) }

// settings of a namespace that decide what happens to packets, by their folder.
var settings = []struct {
	folder  string
	filters bool // only where packets are filtered and translated
	names   []string
}{
	{"net.ipv4.conf.all", false, []string{"arp_announce", "arp_filter", "arp_ignore", "accept_local", "forwarding", "proxy_arp", "route_localnet", "rp_filter", "src_valid_mark",
		"bc_forwarding", "disable_policy", "disable_xfrm", "drop_gratuitous_arp", "drop_unicast_in_l2_multicast"}},
	{"net.ipv4", false, []string{"icmp_echo_ignore_all", "icmp_ratelimit", "icmp_ratemask", "ip_default_ttl", "ip_local_port_range", "ip_no_pmtu_disc", "ipfrag_high_thresh", "tcp_abort_on_overflow", "tcp_rmem", "tcp_wmem"}},
	{"net.ipv4", true, []string{"fib_multipath_hash_policy", "fib_multipath_use_neigh", "fwmark_reflect", "ip_forward_use_pmtu"}},
	{"net.ipv6.conf.all", false, []string{"forwarding", "disable_ipv6", "disable_policy", "proxy_ndp"}},
	{"net.ipv6", true, []string{"fib_multipath_hash_policy", "fwmark_reflect"}},
	{"net.ipv6.icmp", false, []string{"echo_ignore_all", "ratelimit"}},
	{"net.bridge", true, []string{"bridge-nf-call-arptables", "bridge-nf-call-ip6tables", "bridge-nf-call-iptables", "bridge-nf-filter-pppoe-tagged", "bridge-nf-filter-vlan-tagged",
		"bridge-nf-pass-vlan-input-dev"}},
	{"net.netfilter", true, []string{"nf_conntrack_checksum", "nf_conntrack_tcp_be_liberal", "nf_conntrack_tcp_ignore_invalid_rst", "nf_conntrack_tcp_loose", "nf_conntrack_tcp_max_retrans",
		"nf_conntrack_generic_timeout", "nf_conntrack_icmp_timeout", "nf_conntrack_tcp_timeout_close", "nf_conntrack_tcp_timeout_established", "nf_conntrack_tcp_timeout_fin_wait",
		"nf_conntrack_tcp_timeout_syn_recv", "nf_conntrack_tcp_timeout_syn_sent", "nf_conntrack_tcp_timeout_time_wait", "nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"}},
}

// Read notes those of the calling thread's namespace that are neither in the plan nor those of a
// new namespace.
func Read(d deviations.List, proc *procfs.FS, want *plan.Netns, fresh *Pristine) error {
	for _, s := range settings {
		if strings.HasPrefix(s.folder, "net.ipv6") && !want.IPv6 || s.filters && !d.Netns.Kind.Filters() {
			continue // there is none
		}
		have, err := proc.GetAll(s.folder, s.names)
		if err != nil {
			return err
		}
		for i, name := range s.names {
			key := s.folder + "." + name
			is, should := have[i], fresh.settings[key]
			if is == should || is == "" || should == "" {
				continue
			}
			if _, ok := setTo(want, key); ok || key == "net.ipv4.conf.all.forwarding" && forwards(want) {
				continue
			}
			d.Sysctl(key, is, should)
		}
	}
	return nil
}

// forwards reports whether the plan says whether IPv4 is forwarded, by its other name.
func forwards(want *plan.Netns) bool {
	_, ok := setTo(want, "net.ipv4.ip_forward")
	return ok
}

// resolving are settings of a link, below net.ipv4.neigh and net.ipv6.neigh, that decide whether a
// neighbour is asked for.
var resolving = []string{"mcast_solicit", "retrans_time_ms", "unres_qlen_bytes"}

// Resolution notes those of the links that ask.
func Resolution(d deviations.List, proc *procfs.FS, links []string, want *plan.Netns, fresh *Pristine) error {
	trees := neighTrees[:1]
	if want.IPv6 {
		trees = neighTrees
	}
	for _, link := range links {
		for _, tree := range trees {
			folder := tree + "." + slashed(link)
			have, err := proc.GetAll(folder, resolving)
			if err != nil {
				return err
			}
			for i, name := range resolving {
				should := fresh.settings[tree+".lo."+name]
				if value, ok := setTo(want, folder+"."+name); ok {
					should = value
				}
				if have[i] != should && have[i] != "" {
					d.Sysctl(folder+"."+name, have[i], should)
				}
			}
		}
	}
	return nil
}

var neighTrees = []string{"net.ipv4.neigh", "net.ipv6.neigh"}
