package probe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
)

// A program that is not an agent does not say who it is, or whom it sees. So a dialer marks
// what it sends with a number of its own, and raw sockets in the network namespace of the
// program look for the mark: they get a copy of every packet that is delivered to the host,
// after all translation, and take part in nothing (raw(7)).

// mark begins the number of a connection in what its dialer sends.
const mark = "netlab-"

// markDigits are the hexadecimal digits after it.
const markDigits = 16

func markOf(number uint64) string { return fmt.Sprintf("%s%0*x", mark, markDigits, number) }

// markIn is the number in a packet; 0: there is none.
func markIn(packet []byte) uint64 {
	_, rest, found := bytes.Cut(packet, []byte(mark))
	if !found || len(rest) < markDigits {
		return 0
	}
	number, err := strconv.ParseUint(string(rest[:markDigits]), 16, 64)
	if err != nil {
		return 0
	}
	return number
}

// Watch notes which connections reach the ports of a program, which listens there itself, in
// the network namespace that the current thread is in and that the caller names netns. Until
// Unlisten, dialers of this server learn of the program what an agent would tell them.
func (s *Server) Watch(_ netns.Here, netns string, a Agent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("program %q: %w", a.Name, os.ErrClosed)
	}
	ports := map[flow.Protocol][]uint16{}
	for _, l := range a.Listen {
		ports[l.Protocol] = append(ports[l.Protocol], l.Port)
	}
	key := agentKey{netns, a.Name}
	for protocol, list := range ports {
		for _, ipv6 := range []bool{false, true} {
			if ipv6 && !a.IPv6 {
				continue
			}
			l := &listener{fd: -1, ipv6: ipv6, raw: true, answer: Answer{Name: a.Name, Node: a.Node, Proto: protocol}}
			err := s.openRaw(l, protocol, list)
			s.agents[key] = append(s.agents[key], l)
			if err != nil {
				return fmt.Errorf("watch %s ports of %q: %w", protocol, a.Name, err)
			}
		}
	}
	return nil
}

func (s *Server) openRaw(l *listener, protocol flow.Protocol, ports []uint16) (err error) {
	number := map[flow.Protocol]int{flow.TCP: unix.IPPROTO_TCP, flow.UDP: unix.IPPROTO_UDP, flow.SCTP: unix.IPPROTO_SCTP}[protocol]
	family := unix.AF_INET
	if l.ipv6 {
		family = unix.AF_INET6
	}
	if l.fd, err = unix.Socket(family, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, number); err != nil {
		return os.NewSyscallError("socket", err)
	}
	s.slot(l.fd).listener = l
	filter := toPorts(l.ipv6, ports)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.SetsockoptSockFprog(l.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	options := [][3]int{{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1}}
	if l.ipv6 {
		options = append(options, [3]int{unix.SOL_IPV6, unix.IPV6_RECVHOPLIMIT, 1})
	}
	if err := setOptions(l.fd, options...); err != nil {
		return err
	}
	return s.poller.watch(unix.EPOLL_CTL_ADD, l.fd, unix.EPOLLIN, l.fd)
}

// toPorts is a filter that passes the beginning of packets with data to some ports. Packets
// of a raw IPv4 socket begin with the IP header, those of IPv6 with that of the transport.
// Shorter ones than a marked datagram are acknowledgements, for the most part.
func toPorts(ipv6 bool, ports []uint16) []unix.SockFilter {
	ports = ports[:min(len(ports), 200)] // a jump reaches 255 instructions
	shortest := uint32(8 + len(mark) + markDigits)
	load := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 2}}
	if !ipv6 {
		shortest += 20
		load = []unix.SockFilter{{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH}, {Code: unix.BPF_LD | unix.BPF_H | unix.BPF_IND, K: 2}}
	}
	code := append([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_LEN},
		{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: 1, K: shortest},
		{Code: unix.BPF_RET | unix.BPF_K},
	}, load...)
	for i, p := range ports {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(ports) - i), K: uint32(p)})
	}
	return append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 4096})
}

// sighting is a program that a mark has reached, and when.
type sighting struct {
	Answer
	at time.Duration
}

// lookOut notes the awaited marks among the packets that wait on a raw socket. A proxy may
// pass a mark on: the first program that it reaches is the one that was dialed.
func (s *Server) lookOut(l *listener) {
	var oob [128]byte
	for range datagramsPerTurn {
		n, oobn, _, from, err := unix.Recvmsg(l.fd, s.scratch[:], oob[:], 0)
		if err != nil {
			return
		}
		packet := s.scratch[:n]
		number := markIn(packet)
		earlier, awaited := s.awaited[number]
		a, head := sighting{l.answer, arrivedAt(oob[:oobn])}, 0
		if !awaited || earlier != nil && earlier.at <= a.at {
			continue
		}
		if l.ipv6 {
			a.TTL = int(arrivalOf(oob[:oobn]).ttl)
		} else {
			a.TTL, head = int(packet[8]), int(packet[0]&0xf)*4
		}
		a.Peer = netip.AddrPortFrom(addrPort(from).Addr(), binary.BigEndian.Uint16(packet[head:]))
		s.awaited[number] = &a
	}
}

// arrivedAt is when a packet arrived, by its control messages.
func arrivedAt(oob []byte) time.Duration {
	messages, _ := unix.ParseSocketControlMessage(oob)
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
			t := (*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
			return time.Duration(t.Nano())
		}
	}
	return 0
}

// await begins to look out for a new mark; 0: no program is watched.
func (s *Server) await() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.agents {
		if slices.ContainsFunc(list, func(l *listener) bool { return l.raw }) {
			s.marks++
			s.awaited[s.marks] = nil
			return s.marks
		}
	}
	return 0
}

// witnessed is the program that a mark has reached, and what it saw; nil: none.
func (s *Server) witnessed(number uint64) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	for _, list := range s.agents {
		for _, l := range list {
			if l.raw {
				s.lookOut(l)
			}
		}
	}
	if seen := s.awaited[number]; seen != nil {
		return &seen.Answer
	}
	return nil
}

// forget ends the search for a mark.
func (s *Server) forget(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.awaited, number)
}
