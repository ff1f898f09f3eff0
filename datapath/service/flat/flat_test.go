package flat

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// view is what a node sees of services with so many endpoints.
func view(endpoints ...int) service.View {
	addrs := []netip.Addr{netip.MustParseAddr("192.168.0.11")}
	lab := &topology.Lab{Network: topology.Network{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}}
	for i, n := range endpoints {
		p := &topology.ServicePort{Protocol: topology.TCP, Port: 80, NodePort: uint16(30000 + i)}
		for e := range n {
			p.Endpoints = append(p.Endpoints, &topology.Endpoint{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 244, byte(i), byte(e)}), 8080), Node: "a", Ready: true})
		}
		lab.Services = append(lab.Services, &topology.Service{Name: fmt.Sprint("s", i), Type: topology.NodePort, ClusterIPs: []netip.Addr{netip.AddrFrom4([4]byte{10, 96, 0, byte(i)})},
			ExternalTrafficPolicy: topology.PolicyLocal, Ports: []*topology.ServicePort{p}})
	}
	return service.NewView(lab, &topology.Node{Name: "a", Addrs: addrs}, addrs)
}

func change(before, after service.View) nft.Edit {
	edits := nft.Diff(compile(before).NFT, compile(after).NFT)
	if len(edits) != 1 {
		return nft.Edit{}
	}
	return edits[0]
}

// What depends on endpoints is in maps, so that it can change alone.
func TestAChangedEndpointChangesElementsOnly(t *testing.T) {
	for _, row := range [][2]int{{3, 2}, {2, 3}, {1, 4}, {4, 0}, {0, 1}, {5, 8}} {
		before, after := view(3, row[0], 7), view(3, row[1], 7)
		e := change(before, after)
		if len(e.Elements) == 0 {
			t.Errorf("%d to %d endpoints: nothing changes", row[0], row[1])
		}
		if len(e.Chains)+len(e.DeleteChains)+len(e.Renew)+len(e.Sets)+len(e.DeleteSets) > 0 {
			t.Errorf("%d to %d endpoints: more changes than elements:\n%s", row[0], row[1], e.AppendText(nil, false))
		}
	}
	// A service with more endpoints than any other, beyond the next power of two.
	if e := change(view(3, 4), view(3, 5)); len(e.Chains) == 0 {
		t.Error("no chain chooses among five")
	}
}

// What an endpoint changes does not depend on how many services there are.
func TestOthersElementsStay(t *testing.T) {
	changed := func(services int) (n int) {
		counts := make([]int, services)
		for i := range counts {
			counts[i] = 3
		}
		after := slices.Clone(counts)
		after[0] = 2
		for _, s := range change(view(counts...), view(after...)).Elements {
			n += len(s.Add) + len(s.Delete)
		}
		return n
	}
	if few, many := changed(1), changed(100); few == 0 || few != many {
		t.Errorf("%d elements of 1 service, %d of 100", few, many)
	}
}
