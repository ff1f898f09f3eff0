package labs

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/scenarios/language/names"
)

// kube-ipvs0 has every address of every service, and a pod on the host's network has
// all of the node's interfaces.
func TestInspectStaysNarrow(t *testing.T) {
	var out bytes.Buffer
	u := ui{command.New(nil, &out, &out)}
	var addrs []netip.Prefix
	for i := range 200 {
		addrs = append(addrs, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, 0, byte(i)}), 32))
	}
	ip := netip.MustParseAddr("198.51.100.1")
	v := view{Name: "lab", State: "running",
		Interfaces: map[string][]interfaceRecord{"node.n1": {{Name: "kube-ipvs0", Type: "dummy", Addrs: addrs}}}}
	v.Places = []names.Called{{Kind: "node", Name: "n1", Netns: "node.n1"}, {Kind: "pod", Name: "host", Node: "n1", Netns: "node.n1"}}
	v.Services = []serviceRecord{{Name: "web", Namespace: "default", Type: "LoadBalancer", LoadBalancer: []netip.Addr{ip}, ExternalIPs: []netip.Addr{ip.Next()}}}
	if err := u.inspect(v); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "10.96.0.0/32, 10.96.0.1/32 and 198 more"); n != 1 {
		t.Errorf("the addresses are there %d times:\n%s", n, &out)
	}
	for _, ip := range []string{"198.51.100.1  load balancer", "198.51.100.2  external IPs"} {
		if !strings.Contains(out.String(), ip) {
			t.Errorf("no %q in\n%s", ip, &out)
		}
	}
}
