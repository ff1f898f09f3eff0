package fault

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/bgp"
	"github.com/netlab/netlab/topology"
)

// Faults of tunnels.
func tunnels() []kind {
	return []kind{
		{topology.FaultKind{Name: "dead-daemon", About: "the program that carries the node's packets to other nodes has ended: its device and all routes stay, and what they lead to is lost; or, with BGP, the node's speaker: its own routes stay, and all others withdraw theirs to its pods"},
			func(d *damage) error {
				n := d.node()
				switch {
				case len(n.Tunnels) > 0:
					n.Tunnels = nil
				case len(n.Speakers) > 0:
					n.Speakers = nil
					d.cutSessions(func(_ *plan.Netns, p *bgp.Peer) bool { return slices.Contains(d.fault.Node.Addrs, p.Addr) })
				default:
					return fmt.Errorf("in %s, no program carries packets", d.mode())
				}
				return nil
			}},
		{topology.FaultKind{Name: "wrong-key", About: "the node encrypts with another key than the other nodes know: nobody understands it, nor it them, and nothing says so"},
			func(d *damage) error {
				n := d.node()
				n.Tunnels = slices.Clone(n.Tunnels)
				found := false
				for i := range n.Tunnels {
					switch t := &n.Tunnels[i]; {
					case t.WireGuard():
						t.Key[1] ^= 1
					case t.Secret != "":
						t.Secret += ", but wrong"
					default:
						continue
					}
					found = true
				}
				n.XfrmStates = slices.Clone(n.XfrmStates)
				for i := range n.XfrmStates {
					n.XfrmStates[i].Key[0] ^= 1
					found = true
				}
				if !found {
					return fmt.Errorf("in %s, nodes have no keys", d.mode())
				}
				return nil
			}},
		{topology.FaultKind{Name: "missing-fdb", About: "the node's tunnel has no forwarding entry (FDB) that leads to another node: packets die in the tunnel device", Towards: true},
			func(d *damage) (err error) {
				n := d.node()
				found := false
				n.FDB, found = without(n.FDB, func(f plan.FDB) bool { return slices.Contains(d.fault.Towards.Addrs, f.Dst) })
				if !found {
					err = fmt.Errorf("%s has no forwarding entries", d.mode())
				}
				return err
			}},
		{topology.FaultKind{Name: "missing-neighbour", About: "the node does not know the MAC address of another node's end of the tunnel, and cannot ask for it", Towards: true},
			func(d *damage) (err error) {
				n := d.node()
				found := false
				n.Neighs, found = without(n.Neighs, func(x plan.Neigh) bool {
					return slices.ContainsFunc(n.FDB, func(f plan.FDB) bool {
						return f.MAC == x.MAC && f.Link == x.Link && slices.Contains(d.fault.Towards.Addrs, f.Dst)
					})
				})
				if !found {
					err = fmt.Errorf("%s has no neighbour entries for other nodes", d.mode())
				}
				return err
			}},
	}
}
