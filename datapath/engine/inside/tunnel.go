//go:build linux

package inside

import (
	"fmt"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/agents/udptunnel"
	"github.com/netlab/netlab/datapath/agents/wireguard"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// tunnel is a user-space tunnel that runs, or has ended.
type tunnel struct {
	carrier
	planned occupant.Tunnel
}

// carrier is the program of a tunnel.
type carrier interface {
	Err() error // why it has ended; nil: it runs
	Close()
}

// dig starts and stops tunnels in the namespace of the thread. One of which only the peers
// change goes on.
func (o *occupants) dig(add, remove []occupant.Tunnel) error {
	for i := range remove {
		link := remove[i].Link
		t := o.tunnels[link]
		if t == nil || slices.ContainsFunc(add, func(a occupant.Tunnel) bool { p := t.asPlanned(); return a.Same(&p) }) {
			continue
		}
		t.Close()
		delete(o.tunnels, link)
	}
	for i := range add {
		if err := o.digOne(&add[i]); err != nil {
			return fmt.Errorf("tunnel of %s: %w", add[i].Link, err)
		}
	}
	return nil
}

func (o *occupants) digOne(want *occupant.Tunnel) error {
	t := o.tunnels[want.Link]
	if t != nil {
		t.planned = *want
		return t.setPeers()
	}
	t = &tunnel{planned: *want}
	var err error
	if want.WireGuard() {
		t.carrier, err = wireguard.Open(wireguard.Config{Dev: want.Link, Port: want.At.Port(), Key: want.Key, Peers: wireGuardPeers(want.WireGuardPeers())})
	} else {
		t.carrier, err = udptunnel.Open(udptunnel.Config{Dev: want.Link, Local: want.At, Own: want.Pods, Secret: want.Secret, Peers: peers(want)})
	}
	if err != nil {
		return err
	}
	o.tunnels[want.Link] = t
	return nil
}

func (t *tunnel) setPeers() error {
	switch c := t.carrier.(type) {
	case *wireguard.Tunnel:
		return c.SetPeers(wireGuardPeers(t.planned.WireGuardPeers()))
	case *udptunnel.Tunnel:
		return c.SetPeers(peers(&t.planned))
	}
	return nil
}

func peers(t *occupant.Tunnel) (list []udptunnel.Peer) {
	for _, p := range t.Peers {
		list = append(list, udptunnel.Peer{Pods: p.Pods, Node: p.Node})
	}
	return list
}

func wireGuardPeers(peers []occupant.WireGuardPeer) (list []wireguard.Peer) {
	for _, p := range peers {
		list = append(list, wireguard.Peer{Key: p.Key, Node: p.Node, Pods: p.Pods, Keepalive: p.Keepalive})
	}
	return list
}

// greet and met are hooks of the kernel package: they begin sessions of a tunnel, and report
// whether all were begun.
func (in *Lab) greet(name, link string, peers []occupant.WireGuardPeer) error {
	if w := in.wireGuard(name, link); w != nil {
		return w.Greet(wireGuardPeers(peers))
	}
	return nil
}

func (in *Lab) met(name, link string, peers []occupant.WireGuardPeer, since time.Time) bool {
	w := in.wireGuard(name, link)
	return w == nil || w.Met(wireGuardPeers(peers), since)
}

func (in *Lab) wireGuard(name, link string) *wireguard.Tunnel {
	in.mu.Lock()
	defer in.mu.Unlock()
	if t := in.at(name).tunnels[link]; t != nil {
		w, _ := t.carrier.(*wireguard.Tunnel)
		return w
	}
	return nil
}

func (t *tunnel) asPlanned() occupant.Tunnel {
	p := t.planned
	if err := t.Err(); err != nil {
		p.State = err.Error()
	}
	return p
}
