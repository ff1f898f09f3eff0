package plan

import (
	"cmp"
	"slices"
)

// Feature is a capability of the kernel or of an installed tool. Its text is the name
// that doctor prints.
type Feature string

// The features that plans require, or that later parts of netlab will require.
const (
	FeatureUserNS         Feature = "user namespaces"
	FeatureNetNS          Feature = "network namespaces"
	FeatureVeth           Feature = "veth"
	FeatureBridge         Feature = "bridge"
	FeatureBrNetfilter    Feature = "br_netfilter"
	FeatureVXLAN          Feature = "vxlan"
	FeatureConntrack      Feature = "conntrack"
	FeatureIPTables       Feature = "iptables"
	FeatureIPTablesLegacy Feature = "iptables legacy"
	FeatureIP6Tables      Feature = "ip6tables"
	FeatureNFT            Feature = "nft"
	FeatureNFTRanges      Feature = "nft concatenated ranges"
	FeatureNFTCT          Feature = "nft ct"
	FeatureNFTFib         Feature = "nft fib"
	FeatureNFTNumgen      Feature = "nft numgen"
	FeatureNFTNAT         Feature = "nft nat"
	FeatureNFTReject      Feature = "nft reject"
	FeatureIPSet          Feature = "ipset"
	FeatureIPVS           Feature = "ip_vs"
	FeatureTun            Feature = "tun"
	FeatureDummy          Feature = "dummy"
	FeatureNetem          Feature = "netem"
	FeatureTBF            Feature = "tbf"
	FeatureIPIP           Feature = "ipip"
	FeatureWireGuard      Feature = "wireguard"
	FeatureWireGuardOrTun Feature = "wireguard or tun"
	FeatureESP            Feature = "esp"
	FeatureSCTP           Feature = "sctp"

	FeatureMatchComment     Feature = "iptables match comment"
	FeatureMatchMark        Feature = "iptables match mark"
	FeatureMatchConntrack   Feature = "iptables match conntrack"
	FeatureMatchAddrType    Feature = "iptables match addrtype"
	FeatureMatchStatistic   Feature = "iptables match statistic"
	FeatureMatchRecent      Feature = "iptables match recent"
	FeatureMatchSCTP        Feature = "iptables match sctp"
	FeatureMatchNFAcct      Feature = "iptables match nfacct"
	FeatureMatchSet         Feature = "iptables match set"
	FeatureMatchMultiPort   Feature = "iptables match multiport"
	FeatureMatchPhysdev     Feature = "iptables match physdev"
	FeatureMatchLimit       Feature = "iptables match limit"
	FeatureMatchIPVS        Feature = "iptables match ipvs"
	FeatureTargetMark       Feature = "iptables target MARK"
	FeatureTargetDNAT       Feature = "iptables target DNAT"
	FeatureTargetRedirect   Feature = "iptables target REDIRECT"
	FeatureTargetMasquerade Feature = "iptables target MASQUERADE"
	FeatureTargetReject     Feature = "iptables target REJECT"
	FeatureTargetNFLog      Feature = "iptables target NFLOG"
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

// AllFeatures returns every feature in the order in which doctor lists them: each after
// those that it depends on.
func AllFeatures() []Feature {
	rows := aboutFeatures()
	list := make([]Feature, 0, len(rows))
	for _, a := range rows {
		list = append(list, a.Feature)
	}
	return list
}

// About returns the texts of f; an unknown feature has none.
func (f Feature) About() About {
	for _, a := range aboutFeatures() {
		if a.Feature == f {
			return a
		}
	}
	return About{Feature: f}
}

// inOrder returns the features of a set in the order of AllFeatures.
func inOrder(set needed) []Feature {
	all := AllFeatures()
	list := make([]Feature, 0, len(set))
	for f := range set {
		list = append(list, f)
	}
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

// aboutFeatures is the table of all features, in doctor's order.
func aboutFeatures() []About {
	rows := []About{
		{FeatureUserNS, "only root can run labs", "", "CONFIG_USER_NS",
			"allow them: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000, or with AppArmor kernel.apparmor_restrict_unprivileged_userns=0; or run netlab as root", ""},
		{FeatureNetNS, "no lab can run", "", "CONFIG_NET_NS", hintVM, ""},
		{FeatureVeth, "no lab can run: nodes and pods are joined by veth pairs", "veth", "CONFIG_VETH", "", ""},
		{FeatureBridge, "no lab can run: the underlay is a bridge", "bridge", "CONFIG_BRIDGE", "", ""},
		{FeatureBrNetfilter, "a pod that reaches a service whose endpoint is on the same node times out: bridged replies are not translated back", "br_netfilter", "CONFIG_BRIDGE_NETFILTER", "", ""},
		{FeatureVXLAN, "pod networks with a VXLAN tunnel; those without one work", "vxlan", "CONFIG_VXLAN", "", ""},
		{FeatureConntrack, "services and masquerade", "nf_conntrack", "CONFIG_NF_CONNTRACK", "", ""},
		{FeatureIPTables, "services and masquerade in iptables mode", "nf_tables", "CONFIG_NF_TABLES and CONFIG_NFT_COMPAT", hintPackage, ""},
		{FeatureIPTablesLegacy, "nothing where iptables (nft) works", "ip_tables", "CONFIG_IP_NF_IPTABLES_LEGACY", hintPackage, ""},
		{FeatureIP6Tables, "services of IPv6 and dual-stack labs in iptables mode", "nf_tables", "CONFIG_NF_TABLES_IPV6 and CONFIG_NFT_COMPAT", hintPackage, ""},
		{FeatureMatchComment, "rules cannot say what they serve", "xt_comment", "CONFIG_NETFILTER_XT_MATCH_COMMENT", "", "filter -A INPUT -m comment --comment try"},
		{FeatureMatchMark, "masquerade of service traffic", "xt_mark", "CONFIG_NETFILTER_XT_MATCH_MARK", "", "filter -A INPUT -m mark --mark 0x1/0x1"},
		{FeatureMatchConntrack, "services in iptables mode: forwarding of established connections", "xt_conntrack", "CONFIG_NETFILTER_XT_MATCH_CONNTRACK", "", "filter -A INPUT -m conntrack --ctstate NEW"},
		{FeatureMatchAddrType, "node ports and external traffic policy Local", "xt_addrtype", "CONFIG_NETFILTER_XT_MATCH_ADDRTYPE", "", "filter -A INPUT -m addrtype --dst-type LOCAL"},
		{FeatureMatchStatistic, "services with more than one endpoint in iptables mode", "xt_statistic", "CONFIG_NETFILTER_XT_MATCH_STATISTIC", "", "filter -A INPUT -m statistic --mode random --probability 0.5"},
		{FeatureMatchRecent, "session affinity in iptables mode", "xt_recent", "CONFIG_NETFILTER_XT_MATCH_RECENT", "", "filter -A INPUT -m recent --name try --rcheck --seconds 1 --reap"},
		{FeatureMatchSCTP, "SCTP ports of services in iptables mode", "xt_sctp", "CONFIG_NETFILTER_XT_MATCH_SCTP", "", "filter -A INPUT -p sctp -m sctp --dport 1"},
		{FeatureMatchMultiPort, "network policies with several ports", "xt_multiport", "CONFIG_NETFILTER_XT_MATCH_MULTIPORT", "", "filter -A INPUT -p tcp -m tcp -m multiport --dports 80,443"},
		{FeatureMatchPhysdev, "network policies between pods on the same bridge", "xt_physdev", "CONFIG_NETFILTER_XT_MATCH_PHYSDEV", "", "filter -A FORWARD -m physdev --physdev-is-bridged"},
		{FeatureMatchLimit, "logging of what network policies refuse", "xt_limit", "CONFIG_NETFILTER_XT_MATCH_LIMIT", "", "filter -A INPUT -m limit --limit 10/min"},
		{FeatureMatchNFAcct, "kube-proxy's own counters: rules are the same but for those", "xt_nfacct", "CONFIG_NETFILTER_XT_MATCH_NFACCT", "", ""},
		{FeatureTargetMark, "masquerade of service traffic", "xt_mark", "CONFIG_NETFILTER_XT_MARK", "", "mangle -A INPUT -j MARK --or-mark 0x1"},
		{FeatureTargetDNAT, "services in iptables mode", "xt_nat", "CONFIG_NETFILTER_XT_NAT", "", "nat -A PREROUTING -p tcp -m tcp -j DNAT --to-destination 192.0.2.1:80"},
		{FeatureTargetRedirect, "proxy mode userspace", "xt_REDIRECT", "CONFIG_NETFILTER_XT_TARGET_REDIRECT", "", "nat -A PREROUTING -p tcp -m tcp -j REDIRECT --to-ports 80"},
		{FeatureTargetMasquerade, "masquerade of traffic that leaves the cluster", "xt_MASQUERADE", "CONFIG_NETFILTER_XT_TARGET_MASQUERADE", "", "nat -A POSTROUTING -j MASQUERADE --random-fully"},
		{FeatureTargetReject, "services without endpoints time out instead of refusing", "ipt_REJECT", "CONFIG_IP_NF_TARGET_REJECT", "", "filter -A INPUT -j REJECT"},
		{FeatureTargetNFLog, "logging of what network policies refuse", "xt_NFLOG", "CONFIG_NETFILTER_XT_TARGET_NFLOG", "", "filter -A INPUT -j NFLOG --nflog-group 100"},
		{FeatureIPSet, "network policies that use sets, and proxy mode ipvs", "ip_set", "CONFIG_IP_SET", "", ""},
		{FeatureMatchSet, "network policies that use sets, and proxy mode ipvs", "xt_set", "CONFIG_NETFILTER_XT_SET", "", ""},
		{FeatureNFT, "policy style nftables, proxy mode nftables", "nf_tables", "CONFIG_NF_TABLES and CONFIG_NF_TABLES_INET", "", ""},
		{FeatureNFTRanges, "policy style nftables: rules with several ports", "nf_tables", "Linux 5.6 or newer", "", ""},
		{FeatureNFTCT, "policy style nftables: established connections", "nft_ct", "CONFIG_NFT_CT", "", ""},
		{FeatureNFTFib, "proxy mode nftables: node ports", "nft_fib_inet", "CONFIG_NFT_FIB_INET", "", ""},
		{FeatureNFTNumgen, "proxy mode nftables: services with more than one endpoint", "nft_numgen", "CONFIG_NFT_NUMGEN", "", ""},
		{FeatureNFTNAT, "proxy mode nftables", "nft_chain_nat", "CONFIG_NFT_NAT and CONFIG_NFT_MASQ", "", ""},
		{FeatureNFTReject, "policy style nftables: denied connections answered with a refusal", "nft_reject_inet", "CONFIG_NFT_REJECT", "", ""},
		{FeatureIPVS, "proxy mode ipvs", "ip_vs", "CONFIG_IP_VS",
			"run netlab as root: most kernels refuse IPVS to user namespaces; or " + hintVM, ""},
		{FeatureMatchIPVS, "proxy mode ipvs: rules that match the virtual server a packet was for", "xt_ipvs", "CONFIG_NETFILTER_XT_MATCH_IPVS", "", "filter -A INPUT -m ipvs --vproto tcp --vaddr 192.0.2.1 --vport 80"},
		{FeatureTun, "network mode udp, and WireGuard in user space", "tun", "CONFIG_TUN", "", ""},
		{FeatureDummy, "the device kube-ipvs0 of proxy mode ipvs", "dummy", "CONFIG_DUMMY", "", ""},
		{FeatureNetem, "delay, jitter and loss on links", "sch_netem", "CONFIG_NET_SCH_NETEM", "", ""},
		{FeatureTBF, "rate limits on links", "sch_tbf", "CONFIG_NET_SCH_TBF", "", ""},
		{FeatureIPIP, "network mode ipip", "ipip", "CONFIG_NET_IPIP", "", ""},
		{FeatureWireGuard, "network mode wireguard in the kernel; with tun it works in user space", "wireguard", "CONFIG_WIREGUARD", "", ""},
		{FeatureWireGuardOrTun, "network mode wireguard", "tun", "CONFIG_WIREGUARD or CONFIG_TUN", "", ""},
		{FeatureESP, "network mode ipsec", "esp4", "CONFIG_INET_ESP, CONFIG_INET6_ESP and CONFIG_CRYPTO_GCM", "", ""},
		{FeatureSCTP, "expectations and agents that speak SCTP", "sctp", "CONFIG_IP_SCTP", "", ""},
	}
	for i := range rows {
		if rows[i].Remedy == "" {
			rows[i].Remedy = hintVM
		}
	}
	return rows
}
