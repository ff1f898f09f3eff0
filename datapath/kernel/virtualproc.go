//go:build linux

package kernel

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/moby/ipvs"
	"golang.org/x/sys/unix"
)

// /proc/net/ip_vs lists real servers of many virtual ones at once. By netlink, each has to
// be asked for its own, which for 10,000 of them takes seconds.
//
// It does not list all: the file is read 4 kB at a time, and where the next part begins
// is counted in services of this namespace, while the way there was counted in those of
// all (ip_vs_info_array and ip_vs_info_seq_next in net/netfilter/ipvs/ip_vs_ctl.c). With
// services elsewhere some are left out, and after changes some come twice. What it says
// of one service is whole.
//
//	TCP  0A60000A:0050 rr
//	  -> 0AF40B02:0050      Masq    1      0          0
//	TCP  [fd00:0000:0000:0000:0000:0000:0000:0010]:0050 rr persistent 60 …

// virtualKey names a virtual server.
type virtualKey struct {
	addr  netip.AddrPort
	proto string
}

// reals reads real servers of the calling thread's namespace. Virtual servers that the
// file left out are no key.
func (p *procfs) reals() (map[virtualKey][]*ipvs.Destination, error) {
	text, err := p.read("thread-self/net/ip_vs")
	if err != nil {
		return nil, fmt.Errorf("/proc/net/ip_vs: %w", err)
	}
	all := map[virtualKey][]*ipvs.Destination{}
	var key virtualKey
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "->":
			real, ok := parseReal(words)
			if key.proto == "" || !ok {
				continue // of a firewall mark, or the heading
			}
			all[key] = append(all[key], real)
		default:
			key = virtualKey{}
			if addr, err := parseHexAddr(words[1]); err == nil {
				key = virtualKey{addr, strings.ToLower(words[0])}
				all[key] = nil // the later of two is the newer
			}
		}
	}
	return all, nil
}

func parseReal(words []string) (*ipvs.Destination, bool) {
	if len(words) < 6 {
		return nil, false
	}
	addr, err := parseHexAddr(words[1])
	weight, err1 := strconv.Atoi(words[3])
	active, err2 := strconv.Atoi(words[4])
	inactive, err3 := strconv.Atoi(words[5])
	if errors.Join(err, err1, err2, err3) != nil {
		return nil, false
	}
	return &ipvs.Destination{Address: addr.Addr().AsSlice(), Port: addr.Port(), Weight: weight,
		ActiveConnections: active, InactiveConnections: inactive, AddressFamily: uint16(family(addr.Addr()))}, true
}

// parseHexAddr reads 0A60000A:0050 and [fd00:…:0010]:0050: the port is hexadecimal,
// and so are IPv4 addresses.
func parseHexAddr(s string) (netip.AddrPort, error) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return netip.AddrPort{}, fmt.Errorf("address %q", s)
	}
	port, err := strconv.ParseUint(s[i+1:], 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if s[0] == '[' {
		addr, err := netip.ParseAddr(strings.Trim(s[:i], "[]"))
		return netip.AddrPortFrom(addr, uint16(port)), err
	}
	b, err := hex.DecodeString(s[:i])
	addr, ok := netip.AddrFromSlice(b)
	if err == nil && !ok {
		err = fmt.Errorf("address %q", s)
	}
	return netip.AddrPortFrom(addr, uint16(port)), err
}

// read returns a whole file below /proc.
func (p *procfs) read(path string) (string, error) {
	root, err := p.root()
	if err != nil {
		return "", err
	}
	fd, err := unix.Openat(root, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}
