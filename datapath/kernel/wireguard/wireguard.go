//go:build linux

package wireguard

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath/plan/occupant"
	"golang.zx2c4.com/wireguard/wgctrl"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// Set gives a device the configuration of a tunnel, except that there are no keepalives
// yet: Greet begins with them. Peers that stay as they are keep their sessions, unless the
// device gets another key.
func Set(t *occupant.Tunnel) error {
	return with(t.Link, func(c *wgctrl.Client) error {
		have, err := read(c, t.Link)
		if err != nil {
			return err
		}
		key, port := wgtypes.Key(t.Key), int(t.At.Port())
		config := wgtypes.Config{PrivateKey: &key, ListenPort: &port, ReplacePeers: have.Key != t.Key}
		peers := t.WireGuardPeers()
		for _, h := range have.WireGuardPeers() {
			if !config.ReplacePeers && !slices.ContainsFunc(peers, func(p occupant.WireGuardPeer) bool { return p.Key == h.Key }) {
				config.Peers = append(config.Peers, wgtypes.PeerConfig{PublicKey: wgtypes.Key(h.Key), Remove: true})
			}
		}
		for i := range peers {
			config.Peers = append(config.Peers, peer(&peers[i]))
		}
		return c.ConfigureDevice(t.Link, config)
	})
}

// Greet begins a session with peers, and keepalives with those that are to have them.
func Greet(link string, peers []occupant.WireGuardPeer) error {
	return with(link, func(c *wgctrl.Client) error {
		// An interval that there was not before sends one keepalive at once.
		for _, interval := range []func(p *occupant.WireGuardPeer) int{
			func(*occupant.WireGuardPeer) int { return 0 }, func(*occupant.WireGuardPeer) int { return 1 }, func(p *occupant.WireGuardPeer) int { return p.Keepalive },
		} {
			var config wgtypes.Config
			for i := range peers {
				every := time.Duration(interval(&peers[i])) * time.Second
				config.Peers = append(config.Peers, wgtypes.PeerConfig{PublicKey: wgtypes.Key(peers[i].Key), UpdateOnly: true, PersistentKeepaliveInterval: &every})
			}
			if err := c.ConfigureDevice(link, config); err != nil {
				return err
			}
		}
		return nil
	})
}

// Met reports whether a device has had a handshake with all of these peers since a time.
func Met(link string, peers []occupant.WireGuardPeer, since time.Time) (all bool, err error) {
	err = with(link, func(c *wgctrl.Client) error {
		d, err := c.Device(link)
		if err != nil {
			return err
		}
		all = !slices.ContainsFunc(peers, func(p occupant.WireGuardPeer) bool {
			return !slices.ContainsFunc(d.Peers, func(x wgtypes.Peer) bool {
				return occupant.Key(x.PublicKey) == p.Key && !x.LastHandshakeTime.Before(since)
			})
		})
		return nil
	})
	return all, err
}

// Clear takes the key from the device of a tunnel: it neither sends nor understands
// anything then. Sessions end with their peers.
func Clear(t *occupant.Tunnel) error {
	return with(t.Link, func(c *wgctrl.Client) error {
		config := wgtypes.Config{PrivateKey: &wgtypes.Key{}, ReplacePeers: true}
		peers := t.WireGuardPeers()
		for i := range peers {
			config.Peers = append(config.Peers, peer(&peers[i]))
		}
		return c.ConfigureDevice(t.Link, config)
	})
}

// Read returns the configuration of a device. One without a key has no tunnel.
func Read(link string) (t occupant.Tunnel, configured bool, err error) {
	err = with(link, func(c *wgctrl.Client) (err error) {
		t, err = read(c, link)
		return err
	})
	return t, t.WireGuard(), err
}

func with(link string, do func(c *wgctrl.Client) error) error {
	c, err := wgctrl.New()
	if err == nil {
		err = do(c)
		c.Close()
	}
	if err != nil {
		return fmt.Errorf("wireguard device %s: %w", link, err)
	}
	return nil
}

func read(c *wgctrl.Client, link string) (occupant.Tunnel, error) {
	d, err := c.Device(link)
	if err != nil {
		return occupant.Tunnel{}, err
	}
	t := occupant.Tunnel{Link: link, At: netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(d.ListenPort)), Key: occupant.Key(d.PrivateKey)}
	for _, p := range d.Peers {
		var at netip.AddrPort
		if p.Endpoint != nil {
			at = p.Endpoint.AddrPort()
			at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
		}
		for _, pods := range p.AllowedIPs {
			bits, _ := pods.Mask.Size()
			a, _ := netip.AddrFromSlice(pods.IP)
			t.Peers = append(t.Peers, occupant.TunnelPeer{Pods: netip.PrefixFrom(a.Unmap(), bits), Node: at, Key: occupant.Key(p.PublicKey)})
		}
	}
	return t, nil
}

func peer(p *occupant.WireGuardPeer) wgtypes.PeerConfig {
	out := wgtypes.PeerConfig{PublicKey: wgtypes.Key(p.Key), Endpoint: net.UDPAddrFromAddrPort(p.Node), ReplaceAllowedIPs: true}
	for _, pods := range p.Pods {
		out.AllowedIPs = append(out.AllowedIPs, net.IPNet{IP: pods.Addr().AsSlice(), Mask: net.CIDRMask(pods.Bits(), pods.Addr().BitLen())})
	}
	return out
}
