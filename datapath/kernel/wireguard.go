//go:build linux

package kernel

import (
	"context"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/kernel/wireguard"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// hasWireGuard reports whether the kernel has WireGuard. Where it has not, a TUN device is
// created in place of a WireGuard one, and its tunnel is a program, which the owner of the
// Kernel runs.
func (k *Kernel) hasWireGuard(ctx context.Context) bool {
	if k.lacksWG == nil {
		_, lacks := features.Missing(ctx, []feature.Feature{feature.WireGuard})[feature.WireGuard]
		k.lacksWG = &lacks
	}
	return !*k.lacksWG
}

// UserSpace has WireGuard run in user space, whether the kernel has it or not.
func (k *Kernel) UserSpace() {
	lacks := true
	k.lacksWG = &lacks
}

// StandsIn reports whether changes made WireGuard devices that are not the kernel's.
func (k *Kernel) StandsIn(c plan.Changes) bool {
	has := func(links []plan.Link) bool {
		return slices.ContainsFunc(links, func(l plan.Link) bool { return l.Type == plan.WireGuard })
	}
	return k.lacksWG != nil && *k.lacksWG && (slices.ContainsFunc(c.Create, func(n plan.Netns) bool { return has(n.Links) }) ||
		slices.ContainsFunc(c.Edit, func(e plan.Edit) bool { return has(e.Add.Links) }))
}

// standIn notes that a TUN device is in place of a WireGuard one.
func (s *space) standIn(link string) {
	if s.userSpace == nil {
		s.userSpace = map[string]bool{}
	}
	s.userSpace[link] = true
}

// wireGuards configures the kernel's own WireGuard devices in the namespace here, and
// returns the tunnels that are programs.
func (r *runner) wireGuards(s *plan.Step, list []occupant.Tunnel) (programs []occupant.Tunnel, err error) {
	for i := range list {
		t := &list[i]
		if t.WireGuard() && s.Verb != plan.Delete {
			r.greetings = append(r.greetings, &greeting{netns: s.Netns, space: r.here, tunnel: t})
		}
		switch {
		case !t.WireGuard() || r.here.userSpace[t.Link]:
			programs = append(programs, *t)
		case s.Verb == plan.Delete:
			err = wireguard.Clear(t)
		default:
			err = wireguard.Set(t)
		}
		if err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// greeting is a WireGuard tunnel, and the peers with which it begins a session.
type greeting struct {
	netns  string
	space  *space
	tunnel *occupant.Tunnel
	peers  []occupant.WireGuardPeer
}

const (
	// maxGreetings is how many sessions are begun in advance. More would take seconds.
	maxGreetings = 2000
	// greetingPatience is how long to wait for them: a firewall may be in the way.
	greetingPatience = 3 * time.Second
)

// greet begins the sessions of new and changed WireGuard tunnels, now that all links are up,
// and waits until both ends use them.
// Of two such tunnels one begins: with a session that both begin at a time, packets wait
// for five seconds. Others may believe in a session from before, for which they would use
// 15 seconds to give it up.
func (r *runner) greet() error {
	changed := map[occupant.Key]bool{}
	for _, g := range r.greetings {
		changed[g.tunnel.Key.Public()] = true
	}
	count := 0
	for _, g := range r.greetings {
		for _, p := range g.tunnel.WireGuardPeers() {
			if p.Keepalive > 0 || !changed[p.Key] {
				g.peers = append(g.peers, p)
			}
		}
		count += len(g.peers)
	}
	if count > maxGreetings {
		return nil
	}
	began := time.Now()
	for _, g := range r.greetings {
		if err := r.k.begin(g); err != nil {
			return err
		}
	}
	for _, g := range r.sessions() {
		for time.Since(began) < greetingPatience && r.ctx.Err() == nil {
			if all, err := r.k.met(g, began); all || err != nil {
				break // what is missing is found by whoever sends packets
			}
			time.Sleep(time.Millisecond)
		}
	}
	return r.ctx.Err()
}

// sessions are the tunnels at both ends of the sessions that were begun, with the peers of
// each: who answers goes on with the session from before, which the other end may have
// forgotten, until the first packet of the new one has arrived
// (wg_noise_received_with_keypair in drivers/net/wireguard/noise.c). Where one end does not
// know the key of the other there is no session to wait for.
func (r *runner) sessions() (list []*greeting) {
	tunnels := r.tunnels()
	ends := map[*greeting][]occupant.WireGuardPeer{}
	wait := func(g *greeting, key occupant.Key) {
		if ends[g] == nil {
			list = append(list, g)
		}
		ends[g] = append(ends[g], occupant.WireGuardPeer{Key: key})
	}
	for _, g := range r.greetings {
		own := g.tunnel.Key.Public()
		for _, p := range g.peers {
			other := tunnels[p.Key]
			if other != nil && slices.ContainsFunc(other.tunnel.Peers, func(p occupant.TunnelPeer) bool { return p.Key == own }) {
				wait(g, p.Key)
				wait(other, own)
			}
		}
	}
	for g, peers := range ends {
		g.peers = peers
	}
	return list
}

// tunnels are the WireGuard tunnels by their own public keys: new, changed, and those that
// stay as they are.
func (r *runner) tunnels() map[occupant.Key]*greeting {
	all := map[occupant.Key]*greeting{}
	changed := map[string]bool{}
	for _, g := range r.greetings {
		changed[g.netns] = true
		all[g.tunnel.Key.Public()] = g
	}
	for i := range r.k.applied.Netns {
		n := &r.k.applied.Netns[i]
		for j := range n.Tunnels {
			if t := &n.Tunnels[j]; !changed[n.Name] && t.WireGuard() && r.k.spaces[n.Name] != nil {
				all[t.Key.Public()] = &greeting{netns: n.Name, space: r.k.spaces[n.Name], tunnel: t}
			}
		}
	}
	return all
}

func (k *Kernel) begin(g *greeting) error {
	if g.space.userSpace[g.tunnel.Link] {
		if k.hooks.Greet == nil {
			return nil
		}
		return k.hooks.Greet(g.netns, g.tunnel.Link, g.peers)
	}
	return g.space.ns.Do(func() error { return wireguard.Greet(g.tunnel.Link, g.peers) })
}

func (k *Kernel) met(g *greeting, since time.Time) (all bool, err error) {
	if g.space.userSpace[g.tunnel.Link] {
		return k.hooks.Met == nil || k.hooks.Met(g.netns, g.tunnel.Link, g.peers, since), nil
	}
	err = g.space.ns.Do(func() (err error) {
		all, err = wireguard.Met(g.tunnel.Link, g.peers, since)
		return err
	})
	return all, err
}

// readWireGuards adds the configuration of the kernel's own WireGuard devices.
func readWireGuards(n *plan.Netns) error {
	for _, l := range n.Links {
		if l.Type != plan.WireGuard || l.UserSpace {
			continue
		}
		t, configured, err := wireguard.Read(l.Name)
		if err != nil {
			return err
		}
		if configured {
			n.Tunnels = append(n.Tunnels, t)
		}
	}
	return nil
}
