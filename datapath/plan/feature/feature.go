// Package feature names what a lab may need of a machine: capabilities of the kernel and of
// installed tools, what they are for and how to get them.
//
// Which features a plan needs follows from the plan (plan.Requires); whether a machine has
// them is found out by trying (package kernel).
package feature

import (
	"cmp"
	"slices"
)

// Feature is a capability of the kernel or of an installed tool. Its text is the name
// that doctor prints.
type Feature string

// The features that plans require, or that later parts of netlab will require.
const (
	UserNS         Feature = "user namespaces"
	NetNS          Feature = "network namespaces"
	Veth           Feature = "veth"
	Bridge         Feature = "bridge"
	BrNetfilter    Feature = "br_netfilter"
	VXLAN          Feature = "vxlan"
	Conntrack      Feature = "conntrack"
	IPTables       Feature = "iptables"
	IPTablesLegacy Feature = "iptables legacy"
	IP6Tables      Feature = "ip6tables"
	NFT            Feature = "nft"
	NFTRanges      Feature = "nft concatenated ranges"
	NFTCT          Feature = "nft ct"
	NFTFib         Feature = "nft fib"
	NFTNumgen      Feature = "nft numgen"
	NFTNAT         Feature = "nft nat"
	NFTReject      Feature = "nft reject"
	IPSet          Feature = "ipset"
	IPVS           Feature = "ip_vs"
	Tun            Feature = "tun"
	Dummy          Feature = "dummy"
	Netem          Feature = "netem"
	TBF            Feature = "tbf"
	IPIP           Feature = "ipip"
	WireGuard      Feature = "wireguard"
	WireGuardOrTun Feature = "wireguard or tun"
	ESP            Feature = "esp"
	SCTP           Feature = "sctp"

	MatchComment     Feature = "iptables match comment"
	MatchMark        Feature = "iptables match mark"
	MatchConntrack   Feature = "iptables match conntrack"
	MatchAddrType    Feature = "iptables match addrtype"
	MatchStatistic   Feature = "iptables match statistic"
	MatchRecent      Feature = "iptables match recent"
	MatchSCTP        Feature = "iptables match sctp"
	MatchNFAcct      Feature = "iptables match nfacct"
	MatchSet         Feature = "iptables match set"
	MatchMultiPort   Feature = "iptables match multiport"
	MatchPhysdev     Feature = "iptables match physdev"
	MatchLimit       Feature = "iptables match limit"
	MatchIPVS        Feature = "iptables match ipvs"
	TargetMark       Feature = "iptables target MARK"
	TargetDNAT       Feature = "iptables target DNAT"
	TargetRedirect   Feature = "iptables target REDIRECT"
	TargetMasquerade Feature = "iptables target MASQUERADE"
	TargetReject     Feature = "iptables target REJECT"
	TargetNFLog      Feature = "iptables target NFLOG"
	TargetCT         Feature = "iptables target CT"
)

// About describes what a feature is for and how to get it.
type About struct {
	Feature Feature
	Costs   string // what does not work without it
	Module  string // kernel module; empty: none
	Config  string // kernel configuration symbol; empty: none
	Remedy  string // what to do on a machine that lacks it, besides loading the module
	Rule    string // that takes the feature, after its table of iptables; empty: something else does
}

// All returns every feature in the order in which doctor lists them: each after
// those that it depends on.
func All() []Feature {
	rows := table()
	list := make([]Feature, 0, len(rows))
	for _, a := range rows {
		list = append(list, a.Feature)
	}
	return list
}

// About returns the texts of f; an unknown feature has none.
func (f Feature) About() About {
	for _, a := range table() {
		if a.Feature == f {
			return a
		}
	}
	return About{Feature: f}
}

// InOrder sorts features as All does.
func InOrder(list []Feature) []Feature {
	all := All()
	slices.SortFunc(list, func(a, b Feature) int {
		return cmp.Or(cmp.Compare(slices.Index(all, a), slices.Index(all, b)), cmp.Compare(a, b))
	})
	return list
}

const (
	hintVM      = "run in a virtual machine with a full kernel: netlab vm test FILE"
	hintPackage = "install the package iptables (apt-get install iptables); if it is there, " + hintVM
)

// RemedyWhere is what to do on a machine of which loadable says which modules it has.
func (a About) RemedyWhere(loadable func(module string) bool) string {
	if a.Module != "" && loadable(a.Module) {
		return "load the module as root (modprobe " + a.Module + "); if that does not help, " + a.Remedy
	}
	return a.Remedy
}

// table is the table of all features, in doctor's order.
func table() []About {
	rows := []About{
		{UserNS, "only root can run labs", "", "CONFIG_USER_NS",
			"allow them: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000, or with AppArmor kernel.apparmor_restrict_unprivileged_userns=0; or run netlab as root", ""},
		{NetNS, "no lab can run", "", "CONFIG_NET_NS", hintVM, ""},
		{Veth, "no lab can run: nodes and pods are joined by veth pairs", "veth", "CONFIG_VETH", "", ""},
		{Bridge, "no lab can run: the underlay is a bridge", "bridge", "CONFIG_BRIDGE", "", ""},
		{BrNetfilter, "a pod that reaches a service whose endpoint is on the same node times out: bridged replies are not translated back", "br_netfilter", "CONFIG_BRIDGE_NETFILTER", "", ""},
		{VXLAN, "pod networks with a VXLAN tunnel; those without one work", "vxlan", "CONFIG_VXLAN", "", ""},
		{Conntrack, "services and masquerade", "nf_conntrack", "CONFIG_NF_CONNTRACK", "", ""},
		{IPTables, "services and masquerade in iptables mode", "nf_tables", "CONFIG_NF_TABLES and CONFIG_NFT_COMPAT", hintPackage, ""},
		{IPTablesLegacy, "nothing where iptables (nft) works", "ip_tables", "CONFIG_IP_NF_IPTABLES_LEGACY", hintPackage, ""},
		{IP6Tables, "services of IPv6 and dual-stack labs in iptables mode", "nf_tables", "CONFIG_NF_TABLES_IPV6 and CONFIG_NFT_COMPAT", hintPackage, ""},
		{MatchComment, "rules cannot say what they serve", "xt_comment", "CONFIG_NETFILTER_XT_MATCH_COMMENT", "", "filter -A INPUT -m comment --comment try"},
		{MatchMark, "masquerade of service traffic", "xt_mark", "CONFIG_NETFILTER_XT_MATCH_MARK", "", "filter -A INPUT -m mark --mark 0x1/0x1"},
		{MatchConntrack, "services in iptables mode: forwarding of established connections", "xt_conntrack", "CONFIG_NETFILTER_XT_MATCH_CONNTRACK", "", "filter -A INPUT -m conntrack --ctstate NEW"},
		{MatchAddrType, "node ports and external traffic policy Local", "xt_addrtype", "CONFIG_NETFILTER_XT_MATCH_ADDRTYPE", "", "filter -A INPUT -m addrtype --dst-type LOCAL"},
		{MatchStatistic, "services with more than one endpoint in iptables mode", "xt_statistic", "CONFIG_NETFILTER_XT_MATCH_STATISTIC", "", "filter -A INPUT -m statistic --mode random --probability 0.5"},
		{MatchRecent, "session affinity in iptables mode", "xt_recent", "CONFIG_NETFILTER_XT_MATCH_RECENT", "", "filter -A INPUT -m recent --name try --rcheck --seconds 1 --reap"},
		{MatchSCTP, "SCTP ports of services in iptables mode", "xt_sctp", "CONFIG_NETFILTER_XT_MATCH_SCTP", "", "filter -A INPUT -p sctp -m sctp --dport 1"},
		{MatchMultiPort, "network policies with several ports", "xt_multiport", "CONFIG_NETFILTER_XT_MATCH_MULTIPORT", "", "filter -A INPUT -p tcp -m tcp -m multiport --dports 80,443"},
		{MatchPhysdev, "network policies between pods on the same bridge", "xt_physdev", "CONFIG_NETFILTER_XT_MATCH_PHYSDEV", "", "filter -A FORWARD -m physdev --physdev-is-bridged"},
		{MatchLimit, "logging of what network policies refuse", "xt_limit", "CONFIG_NETFILTER_XT_MATCH_LIMIT", "", "filter -A INPUT -m limit --limit 10/min"},
		{MatchNFAcct, "kube-proxy's own counters: rules are the same but for those", "xt_nfacct", "CONFIG_NETFILTER_XT_MATCH_NFACCT", "", ""},
		{TargetMark, "masquerade of service traffic", "xt_mark", "CONFIG_NETFILTER_XT_MARK", "", "mangle -A INPUT -j MARK --or-mark 0x1"},
		{TargetDNAT, "services in iptables mode", "xt_nat", "CONFIG_NETFILTER_XT_NAT", "", "nat -A PREROUTING -p tcp -m tcp -j DNAT --to-destination 192.0.2.1:80"},
		{TargetRedirect, "proxy mode userspace", "xt_REDIRECT", "CONFIG_NETFILTER_XT_TARGET_REDIRECT", "", "nat -A PREROUTING -p tcp -m tcp -j REDIRECT --to-ports 80"},
		{TargetMasquerade, "masquerade of traffic that leaves the cluster", "xt_MASQUERADE", "CONFIG_NETFILTER_XT_TARGET_MASQUERADE", "", "nat -A POSTROUTING -j MASQUERADE --random-fully"},
		{TargetReject, "services without endpoints time out instead of refusing", "ipt_REJECT", "CONFIG_IP_NF_TARGET_REJECT", "", "filter -A INPUT -j REJECT"},
		{TargetCT, "name servers on nodes, without connection tracking", "xt_CT", "CONFIG_NETFILTER_XT_TARGET_CT", "", "raw -A PREROUTING -p udp -m udp --dport 53 -j CT --notrack"},
		{TargetNFLog, "logging of what network policies refuse", "xt_NFLOG", "CONFIG_NETFILTER_XT_TARGET_NFLOG", "", "filter -A INPUT -j NFLOG --nflog-group 100"},
		{IPSet, "network policies that use sets, and proxy mode ipvs", "ip_set", "CONFIG_IP_SET", "", ""},
		{MatchSet, "network policies that use sets, and proxy mode ipvs", "xt_set", "CONFIG_NETFILTER_XT_SET", "", ""},
		{NFT, "policy style nftables, proxy mode nftables", "nf_tables", "CONFIG_NF_TABLES and CONFIG_NF_TABLES_INET", "", ""},
		{NFTRanges, "policy style nftables: rules with several ports", "nf_tables", "Linux 5.6 or newer", "", ""},
		{NFTCT, "policy style nftables: established connections", "nft_ct", "CONFIG_NFT_CT", "", ""},
		{NFTFib, "proxy mode nftables: node ports", "nft_fib_inet", "CONFIG_NFT_FIB_INET", "", ""},
		{NFTNumgen, "proxy mode nftables: services with more than one endpoint", "nft_numgen", "CONFIG_NFT_NUMGEN", "", ""},
		{NFTNAT, "proxy mode nftables", "nft_chain_nat", "CONFIG_NFT_NAT and CONFIG_NFT_MASQ", "", ""},
		{NFTReject, "policy style nftables: denied connections answered with a refusal", "nft_reject_inet", "CONFIG_NFT_REJECT", "", ""},
		{IPVS, "proxy mode ipvs", "ip_vs", "CONFIG_IP_VS",
			"run netlab as root: most kernels refuse IPVS to user namespaces; or " + hintVM, ""},
		{MatchIPVS, "proxy mode ipvs: rules that match the virtual server a packet was for", "xt_ipvs", "CONFIG_NETFILTER_XT_MATCH_IPVS", "", "filter -A INPUT -m ipvs --vproto tcp --vaddr 192.0.2.1 --vport 80"},
		{Tun, "network mode udp, and WireGuard in user space", "tun", "CONFIG_TUN", "", ""},
		{Dummy, "the device kube-ipvs0 of proxy mode ipvs", "dummy", "CONFIG_DUMMY", "", ""},
		{Netem, "delay, jitter and loss on links", "sch_netem", "CONFIG_NET_SCH_NETEM", "", ""},
		{TBF, "rate limits on links", "sch_tbf", "CONFIG_NET_SCH_TBF", "", ""},
		{IPIP, "network mode ipip", "ipip", "CONFIG_NET_IPIP", "", ""},
		{WireGuard, "network mode wireguard in the kernel; with tun it works in user space", "wireguard", "CONFIG_WIREGUARD", "", ""},
		{WireGuardOrTun, "network mode wireguard", "tun", "CONFIG_WIREGUARD or CONFIG_TUN", "", ""},
		{ESP, "network mode ipsec", "esp4", "CONFIG_INET_ESP, CONFIG_INET6_ESP and CONFIG_CRYPTO_GCM", "", ""},
		{SCTP, "expectations and agents that speak SCTP", "sctp", "CONFIG_IP_SCTP", "", ""},
	}
	for i := range rows {
		if rows[i].Remedy == "" {
			rows[i].Remedy = hintVM
		}
	}
	return rows
}
