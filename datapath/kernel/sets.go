//go:build linux

package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// Sets are always edited in place: members come before the rules that need them and
// go after those that do not, so that a set holds old and new members while rules
// change, and a packet that both allow passes at any moment. Swapping a set for a new
// one would take members away while old rules still ask for them.

const ipsetSubsystem = unix.NFNL_SUBSYS_IPSET << 8

// maxMembers bounds the members of one message: the attribute that holds them all has
// 16 bits for its length, and a member takes 84 bytes at most.
const maxMembers = 380

var protocolNumbers = map[string]uint8{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "sctp": unix.IPPROTO_SCTP}

func protocolName(number uint8) string {
	for name, n := range protocolNumbers {
		if n == number {
			return name
		}
	}
	return fmt.Sprint(number)
}

// setWork collects the messages that change sets, and sends them over a socket of the
// calling thread's namespace.
type setWork struct{ msgs []message }

func (w *setWork) create(list []plan.Set) {
	for i := range list {
		s := &list[i]
		w.msgs = append(w.msgs, setCreate(s))
		w.members(nl.IPSET_CMD_ADD, s.Type, s.Name, s.Entries)
	}
}

func (w *setWork) destroy(list []plan.Set) {
	for i := range list {
		m := startSet(nl.IPSET_CMD_DESTROY, unix.NLM_F_EXCL)
		m.text(nl.IPSET_ATTR_SETNAME, list[i].Name)
		msg := m.done(setText("destroy %s", list[i].Name))
		msg.excuse = []unix.Errno{unix.ENOENT}
		w.msgs = append(w.msgs, msg)
	}
}

// members adds members to a set, or deletes them. Those that are there already, or
// gone, are fine.
func (w *setWork) members(cmd int, kind plan.SetType, name string, entries []plan.SetEntry) {
	verb := "add"
	if cmd == nl.IPSET_CMD_DEL {
		verb = "del"
	}
	for len(entries) > 0 {
		n := min(len(entries), maxMembers)
		m := startSet(cmd, 0)
		m.text(nl.IPSET_ATTR_SETNAME, name)
		// The kernel takes many members in a message if it may answer with the number
		// of the line that is wrong (ip_set_ad in net/netfilter/ipset/ip_set_core.c).
		m.number32(nl.IPSET_ATTR_LINENO, 0)
		all := m.open(nl.IPSET_ATTR_ADT)
		for _, e := range entries[:n] {
			m.member(kind, e)
		}
		m.close(all)
		w.msgs = append(w.msgs, m.done(setText("%s %s (%d members from %s on)", verb, name, n, memberText(kind, entries[0]))))
		entries = entries[n:]
	}
}

func (w *setWork) send(k *Kernel) error {
	if len(w.msgs) == 0 {
		return nil
	}
	s, err := openNetlink(unix.NETLINK_NETFILTER, k.memory)
	if err != nil {
		return err
	}
	defer s.close()
	for i := range w.msgs {
		w.msgs[i].words = setErrors
	}
	return s.do(w.msgs)
}

func setText(format string, args ...any) func() string {
	return func() string { return "ipset " + fmt.Sprintf(format, args...) }
}

func memberText(kind plan.SetType, e plan.SetEntry) string {
	s := plan.Set{Type: kind, Entries: []plan.SetEntry{e}}
	return s.Members()[0]
}

// builder writes a netlink message, attribute by attribute.
type builder struct{ b []byte }

func startSet(cmd, flags int) *builder {
	m := &builder{b: make([]byte, unix.NLMSG_HDRLEN, 256)}
	binary.NativeEndian.PutUint16(m.b[4:], uint16(ipsetSubsystem|cmd))
	binary.NativeEndian.PutUint16(m.b[6:], uint16(unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags))
	m.b = append(m.b, unix.AF_INET, unix.NFNETLINK_V0, 0, 0)
	m.number8(nl.IPSET_ATTR_PROTOCOL, nl.IPSET_PROTOCOL)
	return m
}

func (m *builder) done(says func() string) message {
	binary.NativeEndian.PutUint32(m.b, uint32(len(m.b)))
	return message{data: m.b, says: says}
}

// attr appends an attribute of a payload that is padded to four bytes.
func (m *builder) attr(kind int, payload ...byte) {
	m.b = binary.NativeEndian.AppendUint16(m.b, uint16(unix.SizeofNlAttr+len(payload)))
	m.b = binary.NativeEndian.AppendUint16(m.b, uint16(kind))
	m.b = append(m.b, payload...)
	for len(m.b)%4 != 0 {
		m.b = append(m.b, 0)
	}
}

func (m *builder) text(kind int, s string)   { m.attr(kind, append([]byte(s), 0)...) }
func (m *builder) number8(kind int, v uint8) { m.attr(kind, v) }
func (m *builder) number16(kind int, v uint16) {
	m.attr(kind|unix.NLA_F_NET_BYTEORDER, byte(v>>8), byte(v))
}

func (m *builder) number32(kind int, v uint32) {
	m.attr(kind|unix.NLA_F_NET_BYTEORDER, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// open begins an attribute of attributes; close ends it.
func (m *builder) open(kind int) int {
	start := len(m.b)
	m.b = append(m.b, 0, 0)
	m.b = binary.NativeEndian.AppendUint16(m.b, uint16(kind|unix.NLA_F_NESTED))
	return start
}

func (m *builder) close(start int) {
	binary.NativeEndian.PutUint16(m.b[start:], uint16(len(m.b)-start))
}

func (m *builder) addr(kind int, a netip.Addr) {
	start := m.open(kind)
	if a.Is4() {
		v4 := a.As4()
		m.attr(nl.IPSET_ATTR_IPADDR_IPV4|unix.NLA_F_NET_BYTEORDER, v4[:]...)
	} else {
		v6 := a.As16()
		m.attr(nl.IPSET_ATTR_IPADDR_IPV6|unix.NLA_F_NET_BYTEORDER, v6[:]...)
	}
	m.close(start)
}

func (m *builder) member(kind plan.SetType, e plan.SetEntry) {
	start := m.open(nl.IPSET_ATTR_DATA)
	defer m.close(start)
	if kind == plan.BitmapPort {
		m.number16(nl.IPSET_ATTR_PORT, e.Port)
		return
	}
	m.addr(nl.IPSET_ATTR_IP, e.Prefix.Addr())
	if kind == plan.HashNet || kind == plan.HashNetPort {
		m.number8(nl.IPSET_ATTR_CIDR, uint8(e.Prefix.Bits()))
	}
	if kind.HasPort() {
		m.number16(nl.IPSET_ATTR_PORT, e.Port)
		m.number8(nl.IPSET_ATTR_PROTO, protocolNumbers[e.Proto])
	}
	if kind.HasSecond() {
		m.addr(nl.IPSET_ATTR_IP2, e.Second.Addr())
	}
	if kind == plan.HashIPPortNet {
		m.number8(nl.IPSET_ATTR_CIDR2, uint8(e.Second.Bits()))
	}
}

// setRevision is the oldest revision of a type that can do what plans use.
func setRevision(t plan.SetType) uint8 {
	switch t {
	case plan.BitmapPort:
		return 0
	case plan.HashNet, plan.HashNetPort, plan.HashIPPortNet:
		return 2
	default:
		return 1
	}
}

func setCreate(s *plan.Set) message {
	m := startSet(nl.IPSET_CMD_CREATE, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m.text(nl.IPSET_ATTR_SETNAME, s.Name)
	m.text(nl.IPSET_ATTR_TYPENAME, string(s.Type))
	m.number8(nl.IPSET_ATTR_REVISION, setRevision(s.Type))
	family := uint8(unix.AF_INET)
	switch {
	case s.Type == plan.BitmapPort:
		family = unix.AF_UNSPEC
	case s.IPv6:
		family = unix.AF_INET6
	}
	m.number8(nl.IPSET_ATTR_FAMILY, family)
	data := m.open(nl.IPSET_ATTR_DATA)
	if s.Type == plan.BitmapPort {
		m.number16(nl.IPSET_ATTR_PORT_FROM, 0)
		m.number16(nl.IPSET_ATTR_PORT_TO, 65535)
	} else {
		m.number32(nl.IPSET_ATTR_MAXELEM, plan.MaxElem)
	}
	m.close(data)
	return m.done(setText("create %s %s", s.Name, s.Type))
}

// readSets lists the sets of the calling thread's namespace.
func readSets() ([]plan.Set, error) {
	req := nl.NewNetlinkRequest(ipsetSubsystem|nl.IPSET_CMD_LIST, unix.NLM_F_DUMP)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_INET, Version: nl.NFNETLINK_V0})
	req.AddData(nl.NewRtAttr(nl.IPSET_ATTR_PROTOCOL, nl.Uint8Attr(nl.IPSET_PROTOCOL)))
	msgs, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil {
		return nil, fmt.Errorf("ipset list: %w", err)
	}
	var sets []plan.Set
	for _, m := range msgs {
		if len(m) < nl.SizeofNfgenmsg {
			return nil, errShort
		}
		attrs, err := nl.ParseRouteAttr(m[nl.SizeofNfgenmsg:])
		if err != nil {
			return nil, fmt.Errorf("ipset list: %w", err)
		}
		var s plan.Set
		var members []byte
		for _, a := range attrs {
			switch a.Attr.Type & nl.NLA_TYPE_MASK {
			case nl.IPSET_ATTR_SETNAME:
				s.Name = nl.BytesToString(a.Value)
			case nl.IPSET_ATTR_TYPENAME:
				s.Type = plan.SetType(nl.BytesToString(a.Value))
			case nl.IPSET_ATTR_FAMILY:
				s.IPv6 = a.Value[0] == unix.AF_INET6
			case nl.IPSET_ATTR_ADT:
				members = a.Value
			}
		}
		// A long set comes in several messages; only the first says what it is.
		if n := len(sets); n == 0 || sets[n-1].Name != s.Name {
			sets = append(sets, s)
		}
		last := &sets[len(sets)-1]
		if last.Entries, err = appendMembers(last.Entries, last.Type, members); err != nil {
			return nil, fmt.Errorf("ipset list %s: %w", s.Name, err)
		}
	}
	return sets, nil
}

var errShort = errors.New("a message of the kernel is cut short")

func appendMembers(list []plan.SetEntry, kind plan.SetType, b []byte) ([]plan.SetEntry, error) {
	err := eachAttr(b, func(_ uint16, member []byte) error {
		e, err := parseMember(kind, member)
		list = append(list, e)
		return err
	})
	return list, err
}

// eachAttr calls do for each attribute, with its type without flags.
func eachAttr(b []byte, do func(kind uint16, value []byte) error) error {
	for len(b) >= unix.SizeofNlAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofNlAttr || size > len(b) {
			return errShort
		}
		if err := do(binary.NativeEndian.Uint16(b[2:])&nl.NLA_TYPE_MASK, b[unix.SizeofNlAttr:size]); err != nil {
			return err
		}
		b = b[min(align(size), len(b)):]
	}
	return nil
}

func parseMember(kind plan.SetType, b []byte) (plan.SetEntry, error) {
	var e plan.SetEntry
	var first, second netip.Addr
	bits, bits2 := -1, -1
	err := eachAttr(b, func(attr uint16, v []byte) (err error) {
		switch {
		case attr == nl.IPSET_ATTR_IP:
			first, err = memberAddr(v)
		case attr == nl.IPSET_ATTR_IP2:
			second, err = memberAddr(v)
		case attr == nl.IPSET_ATTR_PORT && len(v) >= 2:
			e.Port = binary.BigEndian.Uint16(v)
		case attr == nl.IPSET_ATTR_PROTO && len(v) >= 1:
			e.Proto = protocolName(v[0])
		case attr == nl.IPSET_ATTR_CIDR && len(v) >= 1:
			bits = int(v[0])
		case attr == nl.IPSET_ATTR_CIDR2 && len(v) >= 1:
			bits2 = int(v[0])
		}
		return err
	})
	if kind != plan.BitmapPort {
		e.Prefix = memberPrefix(first, bits)
	}
	if kind.HasSecond() {
		e.Second = memberPrefix(second, bits2)
	}
	return e, err
}

func memberAddr(b []byte) (a netip.Addr, err error) {
	err = eachAttr(b, func(_ uint16, v []byte) error {
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

// setErrors names the errors that ipset has of its own.
func setErrors(e unix.Errno) string {
	if int(e) < nl.IPSET_ERR_PRIVATE {
		return ""
	}
	return nl.IPSetError(e).Error()
}
