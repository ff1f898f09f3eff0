//go:build linux

package virtual

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"

	"github.com/moby/ipvs"

	"github.com/netlab/netlab/datapath/kernel/procfs"
	"github.com/netlab/netlab/datapath/kernel/socket"
)

// /proc/net/ip_vs lists the real servers of all virtual servers at once. Over netlink,
// each virtual server takes a request of its own, which takes seconds for 10,000 of
// them.
//
// The list may be incomplete: the file is read 4 kB at a time, and the start of the
// next part is counted in services of this namespace, while seeking to it counts those
// of all (ip_vs_info_array and ip_vs_info_seq_next in net/netfilter/ipvs/ip_vs_ctl.c).
// With services elsewhere some are left out, and after changes some appear twice. The
// data of a listed service is complete.
//
//	TCP  0A60000A:0050 rr
//	  -> 0AF40B02:0050      Masq    1      0          0
//	TCP  [fd00:0000:0000:0000:0000:0000:0000:0010]:0050 rr persistent 60 …

// key names a virtual server.
type key struct {
	addr  netip.AddrPort
	proto string
}

// Any reports whether there is a virtual server in the calling thread's namespace.
func Any(proc *procfs.FS) (bool, error) {
	text, err := proc.Read("thread-self/net/ip_vs")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // IPVS is not loaded
	}
	return strings.Contains(text, "\nTCP ") || strings.Contains(text, "\nUDP ") || strings.Contains(text, "\nSCTP"), err
}

// reals reads real servers of the calling thread's namespace. Virtual servers that the
// file left out have no key.
func reals(proc *procfs.FS) (map[key][]*ipvs.Destination, error) {
	text, err := proc.Read("thread-self/net/ip_vs")
	if err != nil {
		return nil, fmt.Errorf("/proc/net/ip_vs: %w", err)
	}
	all := map[key][]*ipvs.Destination{}
	var at key
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "->":
			real, ok := parseReal(words)
			if at.proto == "" || !ok {
				continue // of a firewall mark, or the header
			}
			all[at] = append(all[at], real)
		default:
			at = key{}
			if addr, err := parseHexAddr(words[1]); err == nil {
				at = key{addr, strings.ToLower(words[0])}
				all[at] = nil // the later of two is newer
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
		ActiveConnections: active, InactiveConnections: inactive, AddressFamily: uint16(socket.Family(addr.Addr()))}, true
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
