//go:build linux

package wireguard

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
)

// Config is what an end of the network is made of.
type Config struct {
	Dev  string // an existing TUN device
	Port uint16
	Key  [32]byte // private
	// Peers are the other ends.
	Peers []Peer
}

// Peer is another end: what it may send, and is sent.
type Peer struct {
	Key  [32]byte // public
	Node netip.AddrPort
	Pods []netip.Prefix
	// Keepalive is the interval of keepalives in seconds, which Greet begins with; 0: none.
	Keepalive int
}

// Tunnel is an end that runs, or has ended.
type Tunnel struct {
	name  string
	dev   *device.Device
	peers [][32]byte
	last  atomic.Pointer[string] // error of the device
}

// Open starts an end in the network namespace of the calling thread.
func Open(c Config) (*Tunnel, error) {
	t := &Tunnel{name: c.Dev}
	dev, err := attach(c.Dev)
	if err != nil {
		return nil, err
	}
	log := &device.Logger{Verbosef: device.DiscardLogf, Errorf: t.note}
	t.dev = device.NewDevice(dev, conn.NewStdNetBind(), log)
	config := fmt.Sprintf("private_key=%x\nlisten_port=%d\n", c.Key, c.Port)
	if err = t.dev.IpcSet(config); err == nil {
		err = t.dev.Up() // opens the sockets
	}
	if err == nil {
		err = t.SetPeers(c.Peers)
	}
	if err != nil {
		t.dev.Close()
		return nil, err
	}
	return t, nil
}

// SetPeers replaces the peers. Those that stay as they are keep their sessions.
func (t *Tunnel) SetPeers(peers []Peer) error {
	var config strings.Builder
	var known [][32]byte
	for _, p := range peers {
		fmt.Fprintf(&config, "public_key=%x\nendpoint=%s\nreplace_allowed_ips=true\n", p.Key, p.Node)
		for _, pods := range p.Pods {
			fmt.Fprintf(&config, "allowed_ip=%s\n", pods)
		}
		known = append(known, p.Key)
	}
	for _, key := range t.peers {
		if !slices.Contains(known, key) {
			fmt.Fprintf(&config, "public_key=%x\nremove=true\n", key)
		}
	}
	t.peers = known
	return t.dev.IpcSet(config.String())
}

// Greet begins a session with peers, and keepalives with those that are to have them.
func (t *Tunnel) Greet(peers []Peer) error {
	var config strings.Builder
	for _, p := range peers {
		// An interval that there was not before sends one keepalive at once, when the
		// configuration of a peer ends.
		for _, interval := range []int{0, 1, p.Keepalive} {
			fmt.Fprintf(&config, "public_key=%x\nupdate_only=true\npersistent_keepalive_interval=%d\n", p.Key, interval)
		}
	}
	return t.dev.IpcSet(config.String())
}

// Met reports whether there has been a handshake with all of these peers since a time.
func (t *Tunnel) Met(peers []Peer, since time.Time) bool {
	text, err := t.dev.IpcGet()
	if err != nil {
		return false
	}
	last := map[string]time.Time{}
	var peer string
	var seconds int64
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "public_key":
			peer = value
		case "last_handshake_time_sec":
			seconds, _ = strconv.ParseInt(value, 10, 64)
		case "last_handshake_time_nsec":
			n, _ := strconv.ParseInt(value, 10, 64)
			last[peer] = time.Unix(seconds, n)
		}
	}
	return !slices.ContainsFunc(peers, func(p Peer) bool { return last[hex.EncodeToString(p.Key[:])].Before(since) })
}

// Close ends the tunnel. Its device remains.
func (t *Tunnel) Close() { t.dev.Close() }

// Err says why the tunnel has ended; nil: it runs.
func (t *Tunnel) Err() error {
	select {
	case <-t.dev.Wait():
	default:
		return nil
	}
	if why := t.last.Load(); why != nil {
		return errors.New(*why)
	}
	return fmt.Errorf("device %s was deleted", t.name)
}

// note keeps the last error that the device tells of.
func (t *Tunnel) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.last.Store(&text)
}

// attach attaches to the device, which has one program at a time. Where one was just
// closed, a process that was being started has it a little longer, until it executes.
func attach(name string) (tun.Device, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		for deadline := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
			if err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req); !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
				break
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	// It does not watch the device: it would in whatever namespace its goroutine is in.
	dev, _, err := tun.CreateUnmonitoredTUNFromFD(fd)
	return dev, err
}
