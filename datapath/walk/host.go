package walk

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// host is a network namespace: an IP stack of its own.
type host struct {
	*plan.Netns
	once    sync.Once
	order   []*link // lo, then as the plan creates them
	links   map[string]*link
	lo      *link
	local   map[netip.Addr]bool
	addrs   []address
	sysctls map[string]string
	routes  []route // longest prefix first
	tables  map[tableKey]*table
	bases   map[string][]nftBase // of nf_tables, by hook, except nat chains
	nats    map[string][]nftBase // nat chains
	sets    map[string]*set
	virtual map[virtualKey]*ipvs.Server
}

// link is a device of a host.
type link struct {
	*plan.Link
	host *host
}

// address is an address of a link.
type address struct {
	link   *link
	prefix netip.Prefix
}

type tableKey struct {
	ipv6 bool
	name string
}

// speaks reports whether the namespace supports the family of an address.
func (h *host) speaks(a netip.Addr) bool { return a.IsValid() && (a.Is4() || h.IPv6) }

func (h *host) index() {
	h.lo = &link{Link: &plan.Link{Name: "lo", Type: "loopback"}, host: h}
	h.order = []*link{h.lo}
	h.links = map[string]*link{"lo": h.lo}
	for i := range h.Links {
		if h.links[h.Links[i].Name] == nil {
			l := &link{Link: &h.Links[i], host: h}
			h.links[l.Name] = l
			h.order = append(h.order, l)
		}
	}
	h.sysctls = make(map[string]string, len(h.Sysctls))
	for _, s := range h.Sysctls {
		h.sysctls[s.Key] = s.Value
	}
	h.local = map[netip.Addr]bool{}
	for _, a := range h.Addrs {
		l := h.links[a.Link]
		if l == nil || !h.speaks(a.Prefix.Addr()) {
			continue
		}
		h.addrs = append(h.addrs, address{l, a.Prefix})
		h.local[a.Prefix.Addr()] = true
	}
	if h.IPv6 {
		h.local[netip.IPv6Loopback()] = true
	}
	for _, r := range h.Routes {
		if r.Local && r.To.IsSingleIP() && h.speaks(r.To.Addr()) {
			h.local[r.To.Addr()] = true
		}
	}
	h.indexRoutes()
	h.indexNFT()
	h.sets = make(map[string]*set, len(h.Sets))
	for i := range h.Sets {
		h.sets[h.Sets[i].Name] = &set{Set: &h.Sets[i]}
	}
	h.virtual = make(map[virtualKey]*ipvs.Server, len(h.Virtual))
	for i := range h.Virtual {
		s := &h.Virtual[i]
		h.virtual[virtualKey{s.Proto, s.Addr}] = s
	}
	h.tables = map[tableKey]*table{}
	for i := range h.Tables {
		t := &h.Tables[i]
		key := tableKey{t.IPv6, t.Name}
		if h.tables[key] == nil {
			h.tables[key] = &table{Table: t}
		}
	}
}

// isLocal reports whether packets to an address end here.
func (h *host) isLocal(a netip.Addr) bool {
	return h.local[a] || a.Is4() && a.IsLoopback()
}

// tracks reports whether connection tracking is on for a family. The kernel turns it on
// in a namespace with the first rule that needs it; without rules, packet states do not
// matter.
func (h *host) tracks(ipv6 bool) bool {
	return slices.ContainsFunc(h.Tables, func(t iptables.Table) bool { return t.IPv6 == ipv6 }) ||
		slices.ContainsFunc(h.NFT, func(t nft.Table) bool { return t.Family == "inet" || (t.Family == "ip6") == ipv6 })
}

func (h *host) sysctl(key string) bool {
	v := h.sysctls[key]
	return v != "" && v != "0"
}

// either reports whether an IPv4 sysctl is on for all links or for one (IN_DEV_ORCONF
// in include/linux/inetdevice.h).
func (h *host) either(dev *link, setting string) bool {
	return h.sysctl("net.ipv4.conf.all."+setting) || h.sysctl("net.ipv4.conf."+dev.Name+"."+setting)
}

// forwards reports whether the host forwards packets that arrive on a link.
func (h *host) forwards(dev *link, ipv6 bool) bool {
	if ipv6 {
		return h.sysctl("net.ipv6.conf.all.forwarding")
	}
	for _, key := range []string{"net.ipv4.conf." + dev.Name + ".forwarding", "net.ipv4.conf.all.forwarding", "net.ipv4.ip_forward"} {
		if v, ok := h.sysctls[key]; ok {
			return v != "0"
		}
	}
	return false
}

// filtersBridged reports whether bridged frames go through the iptables of the host.
// The sysctl exists per namespace since Linux 5.3, and is on by default
// (br_netfilter_sysctl_default in net/bridge/br_netfilter_hooks.c).
func (h *host) filtersBridged(ipv6 bool) bool {
	key := "net.bridge.bridge-nf-call-iptables"
	if ipv6 {
		key = "net.bridge.bridge-nf-call-ip6tables"
	}
	v, ok := h.sysctls[key]
	return !ok || v != "0"
}

// reversePath is the rp_filter of a link: 0 off, 1 strict, 2 loose. The larger of
// the two settings counts (ip-sysctl.rst).
func (h *host) reversePath(dev *link) int {
	value := func(name string) int {
		switch h.sysctls["net.ipv4.conf."+name+".rp_filter"] {
		case "1":
			return 1
		case "2":
			return 2
		}
		return 0
	}
	own := dev.Name
	if _, ok := h.sysctls["net.ipv4.conf."+own+".rp_filter"]; !ok {
		own = "default"
	}
	return max(value("all"), value(own))
}
