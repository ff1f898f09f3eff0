package network

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/httproute"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Host is a network namespace: an IP stack of its own.
type Host struct {
	*plan.Netns
	once    sync.Once
	order   []*Link // lo, then as the plan creates them
	links   map[string]*Link
	Lo      *Link
	local   map[netip.Addr]bool
	addrs   []address
	sysctls map[string]string
	routes  []route // longest prefix first
	tables  map[tableKey]*Table
	bases   map[baseKey][]Base // of nf_tables
	sets    map[string]*Set
	virtual map[virtualKey]*ipvs.Server
	http    *httproute.Table
}

// Link is a device of a host.
type Link struct {
	*plan.Link
	Host *Host
}

// address is an address of a link.
type address struct {
	link   *Link
	prefix netip.Prefix
}

type tableKey struct {
	ipv6 bool
	name string
}

// virtualKey finds a virtual server.
type virtualKey struct {
	proto string
	addr  netip.AddrPort
}

// Server returns the virtual server at an address, or nil.
func (h *Host) Server(proto string, addr netip.AddrPort) *ipvs.Server {
	return h.virtual[virtualKey{proto, addr}]
}

// Table returns a table of iptables, or nil.
func (h *Host) Table(ipv6 bool, name string) *Table { return h.tables[tableKey{ipv6, name}] }

// Set returns an ipset, or nil.
func (h *Host) Set(name string) *Set { return h.sets[name] }

// Speaks reports whether the namespace supports the family of an address.
func (h *Host) Speaks(a netip.Addr) bool { return a.IsValid() && (a.Is4() || h.IPv6) }

func (h *Host) index() {
	h.Lo = &Link{Link: &plan.Link{Name: "lo", Type: "loopback"}, Host: h}
	h.order = []*Link{h.Lo}
	h.links = map[string]*Link{"lo": h.Lo}
	for i := range h.Links {
		if h.links[h.Links[i].Name] == nil {
			l := &Link{Link: &h.Links[i], Host: h}
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
		if l == nil || !h.Speaks(a.Prefix.Addr()) {
			continue
		}
		h.addrs = append(h.addrs, address{l, a.Prefix})
		h.local[a.Prefix.Addr()] = true
	}
	if h.IPv6 {
		h.local[netip.IPv6Loopback()] = true
	}
	for _, r := range h.Routes {
		if r.Local && r.To.IsSingleIP() && h.Speaks(r.To.Addr()) {
			h.local[r.To.Addr()] = true
		}
	}
	h.http = httproute.New(h.Routing)
	h.indexRoutes()
	h.indexNFT()
	h.sets = make(map[string]*Set, len(h.Sets))
	for i := range h.Sets {
		h.sets[h.Sets[i].Name] = &Set{Set: &h.Sets[i]}
	}
	h.virtual = make(map[virtualKey]*ipvs.Server, len(h.Virtual))
	for i := range h.Virtual {
		s := &h.Virtual[i]
		h.virtual[virtualKey{s.Proto, s.Addr}] = s
	}
	h.tables = map[tableKey]*Table{}
	for i := range h.Tables {
		t := &h.Tables[i]
		key := tableKey{t.IPv6, t.Name}
		if h.tables[key] == nil {
			h.tables[key] = &Table{Table: t}
		}
	}
}

// IsLocal reports whether packets to an address end here.
func (h *Host) IsLocal(a netip.Addr) bool {
	return h.local[a] || a.Is4() && a.IsLoopback()
}

// Tracks reports whether connection tracking is on for a family. The kernel turns it on
// in a namespace with the first rule that needs it; without rules, packet states do not
// matter.
func (h *Host) Tracks(ipv6 bool) bool {
	return slices.ContainsFunc(h.Tables, func(t iptables.Table) bool { return t.IPv6 == ipv6 }) ||
		slices.ContainsFunc(h.NFT, func(t nft.Table) bool { return t.Family == "inet" || (t.Family == "ip6") == ipv6 })
}

func (h *Host) Sysctl(key string) bool {
	v := h.sysctls[key]
	return v != "" && v != "0"
}

// Either reports whether an IPv4 sysctl is on for all links or for one (IN_DEV_ORCONF
// in include/linux/inetdevice.h).
func (h *Host) Either(dev *Link, setting string) bool {
	return h.Sysctl("net.ipv4.conf.all."+setting) || h.Sysctl("net.ipv4.conf."+dev.Name+"."+setting)
}

// Forwards reports whether the host forwards packets that arrive on a link.
func (h *Host) Forwards(dev *Link, ipv6 bool) bool {
	if ipv6 {
		return h.Sysctl("net.ipv6.conf.all.forwarding")
	}
	for _, key := range []string{"net.ipv4.conf." + dev.Name + ".forwarding", "net.ipv4.conf.all.forwarding", "net.ipv4.ip_forward"} {
		if v, ok := h.sysctls[key]; ok {
			return v != "0"
		}
	}
	return false
}

// FiltersBridged reports whether bridged frames go through the iptables of the host.
// The sysctl exists per namespace since Linux 5.3, and is on by default
// (br_netfilter_sysctl_default in net/bridge/br_netfilter_hooks.c).
func (h *Host) FiltersBridged(ipv6 bool) bool {
	key := "net.bridge.bridge-nf-call-iptables"
	if ipv6 {
		key = "net.bridge.bridge-nf-call-ip6tables"
	}
	v, ok := h.sysctls[key]
	return !ok || v != "0"
}

// reversePath is the rp_filter of a link: 0 off, 1 strict, 2 loose. The larger of
// the two settings counts (ip-sysctl.rst).
func (h *Host) reversePath(dev *Link) int {
	value := func(name string) int {
		return map[string]int{"1": 1, "2": 2}[h.sysctls["net.ipv4.conf."+name+".rp_filter"]]
	}
	own := dev.Name
	if _, ok := h.sysctls["net.ipv4.conf."+own+".rp_filter"]; !ok {
		own = "default"
	}
	return max(value("all"), value(own))
}

// WrongPath says why reverse path filtering rejects a source address; empty: it does not.
func (h *Host) WrongPath(dev *Link, src netip.Addr) string {
	mode := h.reversePath(dev)
	if mode == 0 || src.IsLoopback() {
		return ""
	}
	to, ok := h.Lookup(src)
	switch {
	case !ok:
		return fmt.Sprintf("no route leads back to %s (rp_filter)", src)
	case mode == 1 && to.Dev != dev:
		return fmt.Sprintf("the route to %s is by %s, not by %s (rp_filter 1)", src, to.Dev.Name, dev.Name)
	}
	return ""
}
