package policy

import (
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/topology"
)

// An address that the node has for a service is served on every port, one of its own on
// the ports of services only.
func TestServedAddressesAreNotTheNode(t *testing.T) {
	at := func(s string) ipvs.Server {
		return ipvs.Server{Addr: netip.MustParseAddrPort(s), Proto: "tcp"}
	}
	v := View{
		Options: topology.Policies{HostEgress: true},
		Lab:     &topology.Lab{Network: topology.Network{Mode: topology.NetworkMode{}}},
		Node:    &topology.Node{Addrs: []netip.Addr{netip.MustParseAddr("192.168.0.11")}, PodCIDRs: prefixes("10.244.1.0/24")},
		Virtual: []ipvs.Server{at("192.168.0.11:30080"), at("10.96.0.10:80"), at("10.96.0.10:81"), at("10.244.1.1:30080"), at("[fd00::1]:80")},
	}
	got := v.Served(false)
	if len(got.Addrs) != 1 || got.Addrs[0].String() != "10.96.0.10" {
		t.Errorf("addresses: %v", got.Addrs)
	}
	want := []Member{{netip.MustParseAddr("10.244.1.1"), topology.TCP, 30080}, {netip.MustParseAddr("192.168.0.11"), topology.TCP, 30080}}
	if len(got.Ports) != 2 || got.Ports[0] != want[0] || got.Ports[1] != want[1] {
		t.Errorf("ports: %v", got.Ports)
	}
	if got := v.Served(true); len(got.Addrs) != 1 || len(got.Ports) != 0 {
		t.Errorf("IPv6: %+v", got)
	}
	f := NewFilter(&v, false)
	if f.SkipServed("INPUT", "a", "p", ""); len(f.Sets) != 2 || len(f.Ensure("INPUT", "").Rules) != 2 {
		t.Errorf("sets %v, rules %v", f.Sets, f.Chains)
	}
	v.Options.HostEgress = false
	if got := v.Served(false); len(got.Addrs)+len(got.Ports) > 0 {
		t.Errorf("policies do not apply at INPUT, but it matches %+v", got)
	}
}
