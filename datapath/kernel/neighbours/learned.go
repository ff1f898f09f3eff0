//go:build linux

package neighbours

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/deviations"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Learned is a neighbour, or a forwarding entry of a bridge, that the kernel has from a packet. It
// believes in it for seconds or minutes.
type Learned struct {
	learnedAt
	addr    netip.Addr // of a neighbour
	message []byte
}

type learnedAt struct {
	netns, link string
	mac         plan.MAC
}

// Mistakes notes what was learned and contradicts the plan: neighbours with a MAC that the owner of
// the address does not have there, and MACs behind a port that leads to another. byMAC has the links
// with each MAC.
func Mistakes(have, want *plan.Plan, all []Learned, byMAC map[plan.MAC][]plan.Peer) {
	if len(all) == 0 {
		return
	}
	owners, proxies := map[netip.Addr][]string{}, map[string]bool{}
	behind := map[plan.Peer]string{} // what a port leads to
	for i := range want.Netns {
		n := &want.Netns[i]
		for _, a := range n.Addrs {
			owners[a.Prefix.Addr()] = append(owners[a.Prefix.Addr()], n.Name)
		}
		for _, l := range n.Links {
			if l.Type == plan.Veth && l.Master == "" {
				behind[l.Peer] = n.Name
			}
		}
		proxies[n.Name] = slices.ContainsFunc(n.Sysctls, func(s plan.Sysctl) bool { return strings.Contains(s.Key, ".proxy_") && s.Value != "0" })
	}
	read, on := ordered.Index(have.Netns, func(n *plan.Netns) string { return n.Name }), segmentsOf(want)
	noted := map[learnedAt]int{} // an entry is there once for each VLAN of the port, too
	for _, x := range all {
		d, macs := deviations.Of(read[x.netns]), byMAC[x.mac]
		undone := deviations.Undo(unix.NETLINK_ROUTE, unix.RTM_DELNEIGH, x.message)
		if x.addr.IsValid() {
			of, here := owners[x.addr], on.find(plan.Peer{Netns: x.netns, Link: x.link})
			right := func(at plan.Peer) bool {
				return (proxies[at.Netns] || slices.Contains(of, at.Netns)) && on.find(at) == here
			}
			if len(of) > 0 && !slices.ContainsFunc(macs, right) {
				d.Differs(fmt.Sprintf("neighbour %s dev %s: MAC", x.addr, x.link), x.mac, "that of "+of[0], d.IP("neigh delete %s dev %s", x.addr, x.link), undone)
			}
			continue
		}
		to := behind[plan.Peer{Netns: x.netns, Link: x.link}]
		if to != "" && len(macs) > 0 && !slices.ContainsFunc(macs, func(at plan.Peer) bool { return at.Netns == to }) {
			undone.Message[unix.NLMSG_HDRLEN+10] |= unix.NTF_MASTER
			if k, ok := noted[x.learnedAt]; ok {
				d.Netns.Deviations[k].Repair = append(d.Netns.Deviations[k].Repair, undone)
				continue
			}
			noted[x.learnedAt] = len(d.Netns.Deviations)
			d.Add(plan.Deviation{What: fmt.Sprintf("FDB entry %s dev %s", x.mac, x.link), Wrong: "leads to " + to + ", want " + macs[0].Netns,
				Command: fmt.Sprintf("bridge -n %s fdb delete %s dev %s master", x.netns, x.mac, x.link), Repair: []plan.Request{undone}})
		}
	}
}

// segments are the links between which frames go without a router: each leads to one of them, in the
// end to the same.
type segments map[plan.Peer]plan.Peer

// segmentsOf finds them: the ends of a veth, a bridge with its ports, and VXLAN devices with one ID.
func segmentsOf(p *plan.Plan) segments {
	s := segments{}
	for i := range p.Netns {
		n := &p.Netns[i]
		for _, l := range n.Links {
			self := plan.Peer{Netns: n.Name, Link: l.Name}
			if l.Type == plan.Veth {
				s.join(self, l.Peer)
			}
			if l.Master != "" {
				s.join(self, plan.Peer{Netns: n.Name, Link: l.Master})
			}
			if l.Type == plan.VXLAN {
				s.join(self, plan.Peer{Link: fmt.Sprint(l.VXLAN.ID)})
			}
		}
	}
	return s
}

func (s segments) join(a, b plan.Peer) {
	if a, b = s.find(a), s.find(b); a != b {
		s[a] = b
	}
}

func (s segments) find(at plan.Peer) plan.Peer {
	for {
		next, ok := s[at]
		if !ok {
			return at
		}
		if further, ok := s[next]; ok {
			s[at] = further
		}
		at = next
	}
}

// learn keeps what the kernel learned, for Mistakes.
func (r *reading) learn(link string, addr netip.Addr, mac net.HardwareAddr, message []byte) {
	if !addr.IsLinkLocalUnicast() && link != "" {
		r.learned = append(r.learned, Learned{learnedAt{r.n.Name, link, plan.MAC(mac)}, addr, message})
	}
}
