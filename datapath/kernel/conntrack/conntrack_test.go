//go:build linux

package conntrack

import (
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/vishvananda/netlink"
)

func TestStaleUDPEntriesAreThoseOfRemovedEndpoints(t *testing.T) {
	vip, old, now := netip.MustParseAddrPort("10.96.0.1:53"), netip.MustParseAddrPort("10.244.1.2:53"), netip.MustParseAddrPort("10.244.1.3:53")
	f := newStaleUDP([]conntrack.UDPService{{To: []netip.AddrPort{vip}, NodePort: 30053, Endpoints: []netip.AddrPort{now}}}, false)
	for name, c := range map[string]struct {
		protocol uint8
		to, from netip.AddrPort
		stale    bool
	}{
		"to an endpoint that serves":        {17, vip, now, false},
		"to an endpoint that is gone":       {17, vip, old, true},
		"from before there was an endpoint": {17, vip, vip, true},
		"of the node port":                  {17, netip.MustParseAddrPort("192.168.0.11:30053"), old, true},
		"of the node port, serving":         {17, netip.MustParseAddrPort("192.168.0.11:30053"), now, false},
		"of another service":                {17, netip.MustParseAddrPort("192.168.0.11:53"), old, false},
		"of TCP, which is left alone":       {6, vip, old, false},
	} {
		flow := &netlink.ConntrackFlow{
			Forward: netlink.IPTuple{Protocol: c.protocol, DstIP: c.to.Addr().AsSlice(), DstPort: c.to.Port()},
			Reverse: netlink.IPTuple{Protocol: c.protocol, SrcIP: c.from.Addr().AsSlice(), SrcPort: c.from.Port()},
		}
		if got := f.MatchConntrackFlow(flow); got != c.stale {
			t.Errorf("an entry %s: stale %v, want %v", name, got, c.stale)
		}
	}
}

func TestConnectionsThatPoliciesDenyAreCut(t *testing.T) {
	web, other := netip.MustParseAddr("10.244.1.2"), netip.MustParseAddr("10.244.2.9")
	flow := func(proto uint8, from, to, answer string) *netlink.ConntrackFlow {
		f, d, a := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to), netip.MustParseAddrPort(answer)
		return &netlink.ConntrackFlow{
			Forward: netlink.IPTuple{Protocol: proto, SrcIP: f.Addr().AsSlice(), SrcPort: f.Port(), DstIP: d.Addr().AsSlice(), DstPort: d.Port()},
			Reverse: netlink.IPTuple{Protocol: proto, SrcIP: a.Addr().AsSlice(), SrcPort: a.Port(), DstIP: f.Addr().AsSlice(), DstPort: f.Port()},
		}
	}
	cuts := []conntrack.Cut{
		{Pod: web, Ingress: true, Allow: []conntrack.Allow{{Peer: []netip.Prefix{netip.MustParsePrefix("10.244.2.0/24")}, Proto: "tcp", First: 8080, Last: 8080}, {Proto: "icmp"}}},
		{Pod: web, Allow: []conntrack.Allow{{Peer: []netip.Prefix{netip.PrefixFrom(other, 32)}}}},
	}
	f := newCutFilter(cuts, false)
	for _, row := range []struct {
		name string
		flow *netlink.ConntrackFlow
		cut  bool
	}{
		{"allowed", flow(6, "10.244.2.9:5000", "10.244.1.2:8080", "10.244.1.2:8080"), false},
		{"to another port", flow(6, "10.244.2.9:5000", "10.244.1.2:80", "10.244.1.2:80"), true},
		{"from another source", flow(6, "10.244.3.9:5000", "10.244.1.2:8080", "10.244.1.2:8080"), true},
		{"of another protocol", flow(17, "10.244.2.9:5000", "10.244.1.2:8080", "10.244.1.2:8080"), true},
		{"a ping", flow(1, "10.244.3.9:0", "10.244.1.2:0", "10.244.1.2:0"), false},
		{"via a service, allowed at the endpoint", flow(6, "10.244.2.9:5000", "10.96.0.1:80", "10.244.1.2:8080"), false},
		{"via a service, denied at the endpoint", flow(6, "10.244.3.9:5000", "10.96.0.1:80", "10.244.1.2:8080"), true},
		{"from the pod, allowed", flow(6, "10.244.1.2:5000", "10.244.2.9:80", "10.244.2.9:80"), false},
		{"from the pod via a service, denied at the endpoint", flow(6, "10.244.1.2:5000", "10.96.0.1:80", "10.244.2.8:80"), true},
		{"of a pod without cuts", flow(6, "10.244.2.9:5000", "10.244.3.9:80", "10.244.3.9:80"), false},
	} {
		if got := f.MatchConntrackFlow(row.flow); got != row.cut {
			t.Errorf("a connection %s: cut %v, want %v", row.name, got, row.cut)
		}
	}
	if newCutFilter(cuts, true) != nil {
		t.Error("an IPv6 filter for IPv4 cuts")
	}
}
