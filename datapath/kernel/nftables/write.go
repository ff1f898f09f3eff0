//go:build linux

package nftables

import (
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// message is an nf_tables message being written.
type message struct{ socket.Builder }

func startMessage(cmd, flags int, family uint8) *message {
	return &message{socket.Start(unix.NFNL_SUBSYS_NFTABLES, cmd, flags, family)}
}

// number is an attribute of 32 bits; those of nf_tables are in network order.
func (m *message) number(kind int, v uint32) {
	m.Attr(kind, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// nest writes attributes nested in another.
func (m *message) nest(kind int, write func()) {
	start := m.Open(kind)
	write()
	m.Close(start)
}

// work collects the messages of a transaction.
type work struct {
	msgs []socket.Message
	sets uint32 // how many were created
	salt uint32 // of the names of anonymous sets
	at   *nft.Command
	// The family of the table, as a number.
	family uint8
}

// start begins a message about the table, whose name has the same attribute in all:
// NFTA_TABLE_NAME, NFTA_CHAIN_TABLE and its likes.
func (w *work) start(cmd, flags int) *message {
	m := startMessage(cmd, flags, w.family)
	m.Text(unix.NFTA_TABLE_NAME, w.at.Table)
	return m
}

// named adds a message that says no more than a name in the table.
func (w *work) named(cmd, attr int, name string) {
	m := w.start(cmd, 0)
	m.Text(attr, name)
	w.add(m)
}

// join adds a message that belongs to the next.
func (w *work) join(m *message) {
	w.add(m)
	w.msgs[len(w.msgs)-1].Joined = true
}

func (w *work) add(m *message) {
	w.msgs = append(w.msgs, socket.Part(w.at, m.Done())...)
	w.msgs[len(w.msgs)-1].Early = w.at.Unseen
}

// edit adds the messages of one table, command by command: of those that are unseen, or of
// the others.
func (w *work) edit(e *nft.Edit, unseen bool) (err error) {
	if w.family, err = family(e.Family); err != nil {
		return err
	}
	list := e.Commands()
	for i := range list {
		if w.at = &list[i]; w.at.Unseen != unseen {
			continue
		}
		if err := w.command(); err != nil {
			return fmt.Errorf("%s: %w", w.at, err)
		}
	}
	return nil
}

func (w *work) command() error {
	c := w.at
	switch {
	case c.Elements != nil:
		return w.elements(c.Set, c.Elements)
	case c.Set != nil && c.Verb == "add":
		return w.Set(c.Set)
	case c.Set != nil:
		w.named(unix.NFT_MSG_DELSET, unix.NFTA_SET_NAME, c.Set.Name)
	case c.Rule != nil:
		return w.rule(c.Chain, c.Rule)
	case c.Chain != nil && c.Verb == "add":
		return w.chain(c.Chain)
	case c.Chain != nil && c.Verb == "flush":
		w.named(unix.NFT_MSG_DELRULE, unix.NFTA_RULE_CHAIN, c.Chain.Name)
	case c.Chain != nil:
		w.named(unix.NFT_MSG_DELCHAIN, unix.NFTA_CHAIN_NAME, c.Chain.Name)
	case c.Verb == "add":
		m := w.start(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE)
		m.comment(tableUserdata, commentOf, c.Comment)
		w.add(m)
	default:
		w.add(w.start(unix.NFT_MSG_DELTABLE, 0))
	}
	return nil
}

// chain creates a chain, or sets the policy of an existing one.
func (w *work) chain(c *nft.Chain) error {
	m := w.start(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE)
	m.Text(unix.NFTA_CHAIN_NAME, c.Name)
	m.comment(chainUserdata, commentOf, c.Comment)
	if !c.IsBase() {
		w.add(m)
		return nil
	}
	hook, ok := hooks()[c.Hook]
	policy := map[string]uint32{"accept": nfAccept, "drop": nfDrop}
	verdict, known := policy[c.Policy]
	if !ok || !known {
		return fmt.Errorf("unknown hook or policy")
	}
	m.nest(unix.NFTA_CHAIN_HOOK, func() {
		m.number(unix.NFTA_HOOK_HOOKNUM, hook)
		m.number(unix.NFTA_HOOK_PRIORITY, uint32(int32(c.Priority)))
	})
	m.number(unix.NFTA_CHAIN_POLICY, verdict)
	m.Text(unix.NFTA_CHAIN_TYPE, c.Type)
	w.add(m)
	return nil
}

func hooks() map[string]uint32 {
	return map[string]uint32{"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4}
}

// Set creates a set without its elements.
func (w *work) Set(s *nft.Set) error {
	m, err := w.set(s, 0)
	if err == nil {
		w.add(m)
	}
	return err
}

// anonymous creates the set that an expression has itself, with its elements, and returns
// its number, by which the same transaction refers to it. Nobody needs its name, but the kernel
// wants one, and takes longer for every set of the table that there already is: to choose one,
// and to look for one.
func (w *work) anonymous(s *nft.Set) (id uint32, err error) {
	s.Name = fmt.Sprintf("__%x_%x", w.sets, w.salt)
	m, err := w.set(s, unix.NFT_SET_ANONYMOUS|unix.NFT_SET_CONSTANT)
	if err != nil {
		return 0, err
	}
	w.join(m)
	of := func(m *message) { m.number(unix.NFTA_SET_ELEM_LIST_SET_ID, w.sets) }
	return w.sets, w.parts(s, of, s.Elements, unix.NFT_MSG_NEWSETELEM, unix.NLM_F_CREATE|unix.NLM_F_EXCL, func(_ int, m *message) { w.join(m) })
}

func (w *work) set(s *nft.Set, flags uint32) (*message, error) {
	m := w.start(unix.NFT_MSG_NEWSET, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	m.Text(unix.NFTA_SET_NAME, s.Name)
	w.sets++
	m.number(unix.NFTA_SET_ID, w.sets)
	if s.Interval {
		flags |= unix.NFT_SET_INTERVAL
	}
	if s.Interval && len(s.Key) > 1 {
		flags |= setConcat
	}
	if s.IsMap() {
		flags |= unix.NFT_SET_MAP
	}
	if s.Timeout > 0 {
		flags |= unix.NFT_SET_TIMEOUT | unix.NFT_SET_EVAL
		m.Attr(unix.NFTA_SET_TIMEOUT, binary.BigEndian.AppendUint64(nil, uint64(s.Timeout)*1000)...)
	}
	m.comment(setUserdata, setCommentOf, s.Comment)
	if len(s.Key) == 1 && s.Key[0] == nft.Integer {
		// For nft, which prints such keys: the order of their bytes is the machine's.
		m.Attr(setUserdata, append([]byte{byteOrderOf, 4}, binary.NativeEndian.AppendUint32(nil, 1)...)...)
	}
	kind, lengths, err := key(s.Key)
	if err != nil {
		return nil, err
	}
	m.number(unix.NFTA_SET_FLAGS, flags)
	m.number(unix.NFTA_SET_KEY_TYPE, kind)
	m.number(unix.NFTA_SET_KEY_LEN, length(lengths))
	switch {
	case s.HasVerdicts():
		m.number(unix.NFTA_SET_DATA_TYPE, unix.NFT_DATA_VERDICT)
		m.number(unix.NFTA_SET_DATA_LEN, 16) // not used by the kernel
	case s.IsMap():
		kind, data, err := key(s.Data)
		if err != nil {
			return nil, err
		}
		m.number(unix.NFTA_SET_DATA_TYPE, kind)
		m.number(unix.NFTA_SET_DATA_LEN, length(data))
	}
	switch n := len(s.Elements); {
	case s.Timeout > 0:
		// The kernel gives a set to which a rule adds nft's size itself (nft_dynset_init). With it
		// from the start, every set would have a megabyte of buckets.
	case flags&unix.NFT_SET_ANONYMOUS != 0:
		m.nest(unix.NFTA_SET_DESC, func() { m.number(unix.NFTA_SET_DESC_SIZE, uint32(n)) })
	case flags&setConcat == 0 && n >= many && !s.Interval:
		m.nest(unix.NFTA_SET_DESC, func() { m.number(unix.NFTA_SET_DESC_SIZE, uint32(max(8*n, room))) })
	case flags&setConcat != 0:
		m.nest(unix.NFTA_SET_DESC, func() {
			m.nest(descConcat, func() {
				for _, n := range lengths {
					m.nest(unix.NFTA_LIST_ELEM, func() { m.number(fieldLen, n) })
				}
			})
		})
	}
	return m, nil
}

// Numbers that x/sys/unix does not name (include/uapi/linux/netfilter.h and
// netfilter/nf_tables.h).
const (
	nfDrop     = 0
	nfAccept   = 1
	setConcat  = 0x80 // NFT_SET_CONCAT
	descConcat = 2    // NFTA_SET_DESC_CONCAT
	fieldLen   = 1    // NFTA_SET_FIELD_LEN
	keyEnd     = 10   // NFTA_SET_ELEM_KEY_END
	rangeOp    = 2    // NFTA_RANGE_OP and what follows
	rangeFrom  = 3
	rangeTo    = 4

	tableUserdata = 6  // NFTA_TABLE_USERDATA
	chainUserdata = 12 // NFTA_CHAIN_USERDATA
	setUserdata   = 13 // NFTA_SET_USERDATA
	byteOrderOf   = 0  // NFTNL_UDATA_SET_KEYBYTEORDER, of libnftnl's udata.h as the next two
	setCommentOf  = 7  // NFTNL_UDATA_SET_COMMENT
	commentOf     = 0  // that of everything else
)

// comment appends a comment, which the kernel stores for nft: a type, a length, and the text
// with its end.
func (m *message) comment(attr int, kind byte, text string) {
	if text != "" {
		text = text[:min(len(text), nft.MaxComment)]
		m.Attr(attr, append(append([]byte{kind, byte(len(text) + 1)}, text...), 0)...)
	}
}

// A set with a size has that many buckets from the start, and takes no more elements;
// others grow, which is slow when thousands of elements are added at once. So only sets
// that start with many elements get a size, with room to spare.
const (
	many = 2048
	room = 65536
)

// typeOf is the number and the length of a type (enum datatypes of nft; the kernel does
// not interpret the numbers).
func typeOf(t nft.Type) (number, length uint32) {
	switch t {
	case nft.IPv4:
		return 7, 4
	case nft.IPv6:
		return 8, 16
	case nft.Proto:
		return 12, 1
	case nft.Port:
		return 13, 2
	case nft.Mark:
		return 19, 4
	case nft.IfName:
		return 41, 16
	case nft.Integer:
		return 4, 4
	}
	return 0, 0
}

// key is the number of a type, six bits for each part, and the lengths of the parts.
func key(types []nft.Type) (kind uint32, lengths []uint32, err error) {
	for _, t := range types {
		number, length := typeOf(t)
		if number == 0 {
			return 0, nil, fmt.Errorf("unknown type %q", t)
		}
		kind = kind<<6 | number
		lengths = append(lengths, length)
	}
	return kind, lengths, nil
}

// length is the length of a key: if it has several parts, each is padded to four bytes.
func length(lengths []uint32) uint32 {
	if len(lengths) == 1 {
		return lengths[0]
	}
	sum := uint32(0)
	for _, n := range lengths {
		sum += (n + 3) &^ 3
	}
	return sum
}

// maxElements bounds the bytes of elements in one message: the attribute that holds
// them all has 16 bits for its length.
const maxElements = math.MaxUint16 - 1024

func (w *work) elements(s *nft.Set, list []nft.Element) error {
	cmd, flags := unix.NFT_MSG_DELSETELEM, 0
	if w.at.Verb == "add" {
		cmd, flags = unix.NFT_MSG_NEWSETELEM, unix.NLM_F_CREATE|unix.NLM_F_EXCL
	}
	at := *w.at
	of := func(m *message) { m.Text(unix.NFTA_SET_ELEM_LIST_SET, s.Name) }
	return w.parts(s, of, list, cmd, flags, func(n int, m *message) {
		part := at
		part.Elements, at.Elements = at.Elements[:n], at.Elements[n:]
		w.at = &part
		w.add(m)
	})
}

// parts writes elements into as few messages as hold them; of says of which set they are.
func (w *work) parts(s *nft.Set, of func(*message), list []nft.Element, cmd, flags int, add func(n int, m *message)) error {
	for len(list) > 0 {
		m := w.start(cmd, flags)
		of(m)
		start := m.Open(unix.NFTA_SET_ELEM_LIST_ELEMENTS)
		n := 0
		for n < len(list) && len(m.B)-start < maxElements {
			if err := m.element(s, &list[n], cmd == unix.NFT_MSG_NEWSETELEM); err != nil {
				return fmt.Errorf("%s: %w", s.Words(&list[n]), err)
			}
			n++
		}
		m.Close(start)
		add(n, m)
		list = list[n:]
	}
	return nil
}

// element appends one element. An interval of a key with one part takes two: its start,
// and the first key after it.
func (m *message) element(s *nft.Set, e *nft.Element, data bool) error {
	var first, last []byte
	var err error
	pad := len(s.Key) > 1
	for i, t := range s.Key {
		if i >= len(e.Key) {
			return fmt.Errorf("the key lacks parts")
		}
		if first, last, err = appendValue(first, last, t, e.Key[i], pad); err != nil {
			return err
		}
	}
	if string(first) != string(last) && !s.Interval {
		return fmt.Errorf("a range in a set without intervals")
	}
	var payload []byte
	if data && s.IsMap() && !s.HasVerdicts() {
		for i, t := range s.Data {
			if i >= len(e.Data) {
				return fmt.Errorf("the data lack parts")
			}
			if payload, _, err = appendValue(payload, nil, t, e.Data[i], len(s.Data) > 1); err != nil {
				return err
			}
		}
	}
	m.nest(unix.NFTA_LIST_ELEM, func() {
		m.nest(unix.NFTA_SET_ELEM_KEY, func() { m.Attr(unix.NFTA_DATA_VALUE, first...) })
		if s.Interval && pad {
			m.nest(keyEnd, func() { m.Attr(unix.NFTA_DATA_VALUE, last...) })
		}
		switch {
		case !data || !s.IsMap():
		case s.HasVerdicts():
			m.nest(unix.NFTA_SET_ELEM_DATA, func() { err = m.verdict(e.Verdict) })
		default:
			m.nest(unix.NFTA_SET_ELEM_DATA, func() { m.Attr(unix.NFTA_DATA_VALUE, payload...) })
		}
		if data {
			m.comment(unix.NFTA_SET_ELEM_USERDATA, commentOf, e.Comment)
		}
	})
	if err == nil && s.Interval && !pad && increment(last) {
		m.nest(unix.NFTA_LIST_ELEM, func() {
			m.nest(unix.NFTA_SET_ELEM_KEY, func() { m.Attr(unix.NFTA_DATA_VALUE, last...) })
			m.number(unix.NFTA_SET_ELEM_FLAGS, unix.NFT_SET_ELEM_INTERVAL_END)
		})
	}
	return err
}

// increment turns a key into the next one, and reports whether there is one.
func increment(key []byte) bool {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i]++; key[i] != 0 {
			return true
		}
	}
	return false
}

// appendValue appends the bytes of the first and of the last value of a range.
func appendValue(first, last []byte, t nft.Type, v nft.Value, pad bool) (from, to []byte, err error) {
	switch t {
	case nft.IPv4, nft.IPv6:
		a := v.Prefix.Masked().Addr().AsSlice()
		if _, n := typeOf(t); len(a) != int(n) {
			return nil, nil, fmt.Errorf("%s is not of type %s", v.Prefix, t)
		}
		first, last = append(first, a...), append(last, a...)
		for bit := v.Prefix.Bits(); bit < 8*len(a); bit++ {
			last[len(last)-len(a)+bit/8] |= 0x80 >> (bit % 8)
		}
	case nft.IfName:
		var name [16]byte
		if copy(name[:15], v.Name) < len(v.Name) {
			return nil, nil, fmt.Errorf("link name %q is too long", v.Name)
		}
		first, last = append(first, name[:]...), append(last, name[:]...)
	case nft.Mark, nft.Integer:
		first, last = binary.NativeEndian.AppendUint32(first, v.First), binary.NativeEndian.AppendUint32(last, v.Last)
	case nft.Port:
		first, last = binary.BigEndian.AppendUint16(first, uint16(v.First)), binary.BigEndian.AppendUint16(last, uint16(v.Last))
	case nft.Proto:
		first, last = append(first, byte(v.First)), append(last, byte(v.Last))
	default:
		return nil, nil, fmt.Errorf("unknown type %q", t)
	}
	for pad && len(first)%4 != 0 {
		first, last = append(first, 0), append(last, 0)
	}
	return first, last, nil
}
