package iptables

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

func TestNodePortsAnswerOnTheirAddresses(t *testing.T) {
	const comment = `-m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" `
	for _, row := range []struct {
		name      string
		addresses string
		localhost bool
		ipv6      bool
		rules     []string
		firewall  bool // packets to 127.0.0.0/8 from outside are dropped
	}{
		{"all addresses", "", true, false, []string{"-m addrtype --dst-type LOCAL"}, true},
		{"all but loopback", "", false, false, []string{"-m addrtype --dst-type LOCAL ! -d 127.0.0.0/8"}, false},
		{"IPv6 is never on loopback", "", true, true, []string{"-m addrtype --dst-type LOCAL ! -d ::1"}, false},
		{"0.0.0.0/0 is all addresses", "10.0.0.0/8 0.0.0.0/0", true, false, []string{"-m addrtype --dst-type LOCAL"}, true},
		{"one network", "192.168.0.0/24", true, false, []string{"-d 192.168.0.11"}, false},
		{"a network and loopback", "192.168.0.0/24 127.0.0.0/8", true, false, []string{"-d 127.0.0.1", "-d 192.168.0.11"}, true},
		{"loopback without node ports on it", "192.168.0.0/24 127.0.0.0/8", false, false, []string{"-d 192.168.0.11"}, false},
		{"prefixes of the other family do not count", "fd00::/64", true, false, []string{"-m addrtype --dst-type LOCAL"}, true},
		{"no address of the node", "172.16.0.0/12", true, false, nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			lab := &topology.Lab{Proxy: topology.Proxy{LocalNodePorts: row.localhost}}
			for _, p := range strings.Fields(row.addresses) {
				lab.Proxy.NodePortAddresses = append(lab.Proxy.NodePortAddresses, netip.MustParsePrefix(p))
			}
			v := service.View{Lab: lab, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"),
				netip.MustParseAddr("192.168.0.11"), netip.MustParseAddr("10.244.1.1"), netip.MustParseAddr("fd00::11")}}
			cidr := netip.MustParsePrefix("10.244.0.0/16")
			if row.ipv6 {
				cidr = netip.MustParsePrefix("fd00::/64")
			}
			c := newCompiler(v, cidr)
			c.static()
			c.nodePortHook()
			var got []string
			for _, chain := range c.nat.Chains {
				for _, r := range chain.Rules {
					if chain.Name == services {
						text := strings.TrimPrefix(r.Restore(services), "-A KUBE-SERVICES "+comment)
						got = append(got, strings.TrimSuffix(text, " -j KUBE-NODEPORTS"))
					}
				}
			}
			if !slices.Equal(got, row.rules) {
				t.Errorf("got %q, want %q", got, row.rules)
			}
			if ok := c.filter.Has(firewall); ok != row.firewall {
				t.Errorf("firewall: %v, want %v", ok, row.firewall)
			}
			if (len(c.sysctls()) > 0) != row.firewall {
				t.Error("route_localnet and the rule that closes its hole belong together")
			}
		})
	}
}
