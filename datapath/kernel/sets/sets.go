//go:build linux

package sets

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipset"
)

// Sets are always edited in place: members are added before the rules that need them
// and deleted after the rules that no longer do, so that a set holds old and new
// members while rules change, and a packet that both allow passes at any moment.
// Swapping a set for a new one would remove members while old rules still need them.

const ipsetSubsystem = unix.NFNL_SUBSYS_IPSET << 8

// maxMembers bounds the members of one message: the attribute that holds them all has
// 16 bits for its length, and a member takes 84 bytes at most.
const maxMembers = 380

// ProtocolNumbers are the numbers of transport protocols by their names in plans.
var ProtocolNumbers = map[string]uint8{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "sctp": unix.IPPROTO_SCTP}

// ProtocolName is the name of a transport protocol; its number if plans have no name.
func ProtocolName(number uint8) string {
	for name, n := range ProtocolNumbers {
		if n == number {
			return name
		}
	}
	return fmt.Sprint(number)
}

// Run carries out commands in the calling thread's namespace.
func Run(ctx context.Context, memory *socket.Memory, list plan.SetCommands) error {
	s, err := socket.Open(unix.NETLINK_NETFILTER, memory)
	if err != nil {
		return err
	}
	defer s.Close()
	var msgs []socket.Message
	flush := func() error {
		for i := range msgs {
			msgs[i].Words = setErrors
		}
		err := s.Do(msgs)
		msgs = nil
		return err
	}
	for i := range list {
		c := &list[i]
		switch c.Verb {
		case "create":
			msgs = append(msgs, socket.Part(c, setCreate(c.Set))...)
		case "flush":
			msgs = append(msgs, socket.Part(c, setEnd(c))...)
		case "destroy":
			if err := errors.Join(flush(), destroy(ctx, s, c)); err != nil {
				return err
			}
		default:
			msgs = append(msgs, setMembers(c)...)
		}
	}
	return flush()
}

// busyPatience is how long a set may be in use after the rule that used it was deleted: the kernel
// frees rules of nf_tables later (nf_tables_trans_destroy_work in net/netfilter/nf_tables_api.c).
const busyPatience = 5 * time.Second

func destroy(ctx context.Context, s *socket.Socket, c *ipset.Command) error {
	for deadline := time.Now().Add(busyPatience); ; time.Sleep(2 * time.Millisecond) {
		m, busy := setEnd(c), false
		m.Words = func(e unix.Errno) string {
			busy = int(e) == nl.IPSET_ERR_BUSY
			return setErrors(e)
		}
		err := s.Do(socket.Part(c, m))
		if !busy || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
	}
}

// setEnd destroys a set, or removes all its members.
func setEnd(c *ipset.Command) socket.Message {
	cmd := nl.IPSET_CMD_DESTROY
	if c.Verb == "flush" {
		cmd = nl.IPSET_CMD_FLUSH
	}
	m := startSet(cmd, unix.NLM_F_EXCL)
	m.Text(nl.IPSET_ATTR_SETNAME, c.Set.Name)
	msg := m.Done()
	msg.Excuse = []unix.Errno{unix.ENOENT}
	return msg
}

// setMembers adds members to a set, or deletes them. Those already there, or already
// gone, are fine.
func setMembers(c *ipset.Command) (msgs []socket.Message) {
	cmd := nl.IPSET_CMD_ADD
	if c.Verb == "del" {
		cmd = nl.IPSET_CMD_DEL
	}
	for entries := range slices.Chunk(c.Entries, maxMembers) {
		msgs = append(msgs, socket.Part(ipset.Command{Verb: c.Verb, Set: c.Set, Entries: entries}, members(cmd, c.Set, entries))...)
	}
	return msgs
}

func members(cmd int, s *ipset.Set, entries []ipset.Entry) socket.Message {
	m := startSet(cmd, 0)
	m.Text(nl.IPSET_ATTR_SETNAME, s.Name)
	// The kernel takes many members in a message if it can report the number of a
	// wrong line (ip_set_ad in net/netfilter/ipset/ip_set_core.c).
	m.number32(nl.IPSET_ATTR_LINENO, 0)
	all := m.Open(nl.IPSET_ATTR_ADT)
	for _, e := range entries {
		m.member(s.Type, e)
	}
	m.Close(all)
	return m.Done()
}

// setMessage is an ipset message being written.
type setMessage struct{ socket.Builder }

func startSet(cmd, flags int) *setMessage {
	m := &setMessage{socket.Start(unix.NFNL_SUBSYS_IPSET, cmd, unix.NLM_F_ACK|flags, unix.AF_INET)}
	m.number8(nl.IPSET_ATTR_PROTOCOL, nl.IPSET_PROTOCOL)
	return m
}

func (m *setMessage) number8(kind int, v uint8) { m.Attr(kind, v) }
func (m *setMessage) number16(kind int, v uint16) {
	m.Attr(kind|unix.NLA_F_NET_BYTEORDER, byte(v>>8), byte(v))
}

func (m *setMessage) number32(kind int, v uint32) {
	m.Attr(kind|unix.NLA_F_NET_BYTEORDER, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

func (m *setMessage) addr(kind int, a netip.Addr) {
	start := m.Open(kind)
	if a.Is4() {
		v4 := a.As4()
		m.Attr(nl.IPSET_ATTR_IPADDR_IPV4|unix.NLA_F_NET_BYTEORDER, v4[:]...)
	} else {
		v6 := a.As16()
		m.Attr(nl.IPSET_ATTR_IPADDR_IPV6|unix.NLA_F_NET_BYTEORDER, v6[:]...)
	}
	m.Close(start)
}

func (m *setMessage) member(kind ipset.Type, e ipset.Entry) {
	start := m.Open(nl.IPSET_ATTR_DATA)
	defer m.Close(start)
	if kind == ipset.BitmapPort {
		m.number16(nl.IPSET_ATTR_PORT, e.Port)
		return
	}
	m.addr(nl.IPSET_ATTR_IP, e.Prefix.Addr())
	if kind == ipset.HashNet || kind == ipset.HashNetPort {
		m.number8(nl.IPSET_ATTR_CIDR, uint8(e.Prefix.Bits()))
	}
	if kind.HasPort() {
		m.number16(nl.IPSET_ATTR_PORT, e.Port)
		m.number8(nl.IPSET_ATTR_PROTO, ProtocolNumbers[e.Proto])
	}
	if kind.HasSecond() {
		m.addr(nl.IPSET_ATTR_IP2, e.Second.Addr())
	}
	if kind == ipset.HashIPPortNet {
		m.number8(nl.IPSET_ATTR_CIDR2, uint8(e.Second.Bits()))
	}
}

// setRevision is the oldest revision of a type that supports what plans use.
func setRevision(t ipset.Type) uint8 {
	switch t {
	case ipset.BitmapPort:
		return 0
	case ipset.HashNet, ipset.HashNetPort, ipset.HashIPPortNet:
		return 2
	default:
		return 1
	}
}

func setCreate(s *ipset.Set) socket.Message {
	m := startSet(nl.IPSET_CMD_CREATE, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m.Text(nl.IPSET_ATTR_SETNAME, s.Name)
	m.Text(nl.IPSET_ATTR_TYPENAME, string(s.Type))
	m.number8(nl.IPSET_ATTR_REVISION, setRevision(s.Type))
	family := uint8(unix.AF_INET)
	switch {
	case s.Type == ipset.BitmapPort:
		family = unix.AF_UNSPEC
	case s.IPv6:
		family = unix.AF_INET6
	}
	m.number8(nl.IPSET_ATTR_FAMILY, family)
	data := m.Open(nl.IPSET_ATTR_DATA)
	if s.Type == ipset.BitmapPort {
		m.number16(nl.IPSET_ATTR_PORT_FROM, 0)
		m.number16(nl.IPSET_ATTR_PORT_TO, 65535)
	} else {
		m.number32(nl.IPSET_ATTR_MAXELEM, ipset.MaxElem)
	}
	m.Close(data)
	return m.Done()
}

// Odd is a member that plans cannot have: what it is, and the request that deletes it.
type Odd struct {
	Set, Member, What string
	Delete            []byte
}

// Read lists the sets of the calling thread's namespace, without members that are odd. The type of
// a set with an option that plans do not have says which.
func Read(memory *socket.Memory) (sets []ipset.Set, odd []Odd, err error) {
	sock, err := socket.Open(unix.NETLINK_NETFILTER, memory)
	if err != nil {
		return nil, nil, err
	}
	defer sock.Close()
	var b socket.Builder
	b.B = append(b.B, unix.AF_INET, nl.NFNETLINK_V0, 0, 0)
	b.Attr(nl.IPSET_ATTR_PROTOCOL, nl.IPSET_PROTOCOL)
	msgs, err := sock.Dump(ipsetSubsystem|nl.IPSET_CMD_LIST, b.B)
	if err != nil {
		return nil, nil, fmt.Errorf("ipset list: %w", err)
	}
	for _, m := range msgs {
		m = m[unix.NLMSG_HDRLEN:]
		if len(m) < nl.SizeofNfgenmsg {
			return nil, nil, socket.ErrShort
		}
		var s ipset.Set
		var list, data []byte
		err := socket.EachAttr(m[nl.SizeofNfgenmsg:], func(kind uint16, value []byte) error {
			switch kind {
			case nl.IPSET_ATTR_SETNAME:
				s.Name = nl.BytesToString(value)
			case nl.IPSET_ATTR_TYPENAME:
				s.Type = ipset.Type(nl.BytesToString(value))
			case nl.IPSET_ATTR_FAMILY:
				s.IPv6 = value[0] == unix.AF_INET6
			case nl.IPSET_ATTR_DATA:
				data = value
			case nl.IPSET_ATTR_ADT:
				list = value
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("ipset list: %w", err)
		}
		// A long set takes several messages; only the first has its header.
		if n := len(sets); n == 0 || sets[n-1].Name != s.Name {
			s.Type += ipset.Type(options(s.Type, data))
			sets = append(sets, s)
		}
		last := &sets[len(sets)-1]
		if !last.Type.Planned() {
			continue
		}
		err = socket.EachAttr(list, func(_ uint16, member []byte) error {
			e, what, err := parseMember(last.Type, member)
			if what == "" {
				last.Entries = append(last.Entries, e)
			} else {
				odd = append(odd, Odd{last.Name, last.Type.Words(e), what, members(nl.IPSET_CMD_DEL, last, []ipset.Entry{e}).Data})
			}
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("ipset list %s: %w", s.Name, err)
		}
	}
	return sets, odd, nil
}

// options are those of a set that plans do not have, in words.
func options(t ipset.Type, header []byte) (words string) {
	_ = socket.EachAttr(header, func(kind uint16, v []byte) error {
		value := uint32(0)
		for _, b := range v[:min(len(v), 4)] {
			value = value<<8 | uint32(b)
		}
		switch {
		case kind == nl.IPSET_ATTR_TIMEOUT:
			words += fmt.Sprintf(" timeout %d", value)
		case kind == nl.IPSET_ATTR_NETMASK && value > 0:
			words += fmt.Sprintf(" netmask %d", value)
		case t == ipset.BitmapPort && kind == nl.IPSET_ATTR_PORT_FROM && value > 0:
			words += fmt.Sprintf(" from %d", value)
		case t == ipset.BitmapPort && kind == nl.IPSET_ATTR_PORT_TO && value < 65535:
			words += fmt.Sprintf(" to %d", value)
		}
		return nil
	})
	return words
}

// parseMember reads a member; odd is what plans do not have of it.
func parseMember(kind ipset.Type, b []byte) (e ipset.Entry, odd string, err error) {
	var first, second netip.Addr
	bits, bits2 := -1, -1
	err = socket.EachAttr(b, func(attr uint16, v []byte) (err error) {
		switch {
		case attr == nl.IPSET_ATTR_CADT_FLAGS && len(v) == 4 && binary.BigEndian.Uint32(v)&nl.IPSET_FLAG_NOMATCH != 0:
			odd = "nomatch"
		case attr == nl.IPSET_ATTR_IP:
			first, err = memberAddr(v)
		case attr == nl.IPSET_ATTR_IP2:
			second, err = memberAddr(v)
		case attr == nl.IPSET_ATTR_PORT && len(v) >= 2:
			e.Port = binary.BigEndian.Uint16(v)
		case attr == nl.IPSET_ATTR_PROTO && len(v) >= 1:
			e.Proto = ProtocolName(v[0])
		case attr == nl.IPSET_ATTR_CIDR && len(v) >= 1:
			bits = int(v[0])
		case attr == nl.IPSET_ATTR_CIDR2 && len(v) >= 1:
			bits2 = int(v[0])
		}
		return err
	})
	if kind != ipset.BitmapPort {
		e.Prefix = memberPrefix(first, bits)
	}
	if kind.HasSecond() {
		e.Second = memberPrefix(second, bits2)
	}
	return e, odd, err
}

func memberAddr(b []byte) (a netip.Addr, err error) {
	err = socket.EachAttr(b, func(_ uint16, v []byte) error {
		a, _ = netip.AddrFromSlice(v)
		return nil
	})
	return a, err
}

func memberPrefix(a netip.Addr, bits int) netip.Prefix {
	if bits < 0 {
		bits = a.BitLen()
	}
	return netip.PrefixFrom(a, bits)
}

// setErrors names ipset's own error codes.
func setErrors(e unix.Errno) string {
	if int(e) < nl.IPSET_ERR_PRIVATE {
		return ""
	}
	return nl.IPSetError(e).Error()
}
