//go:build linux

package kernel

import (
	"encoding/binary"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// nftMessage is a message of nf_tables being written.
type nftMessage struct{ builder }

func startNFT(cmd, flags int, family uint8) *nftMessage {
	m := &nftMessage{builder{b: make([]byte, unix.NLMSG_HDRLEN, 256)}}
	binary.NativeEndian.PutUint16(m.b[4:], uint16(nftSubsystem|cmd))
	binary.NativeEndian.PutUint16(m.b[6:], uint16(unix.NLM_F_REQUEST|flags))
	m.b = append(m.b, family, unix.NFNETLINK_V0, 0, 0)
	return m
}

func (m *nftMessage) done(says func() string) message {
	binary.NativeEndian.PutUint32(m.b, uint32(len(m.b)))
	return message{data: m.b, says: says}
}

// number is an attribute of 32 bits; those of nf_tables are in network order.
func (m *nftMessage) number(kind int, v uint32) {
	m.attr(kind, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// nest writes attributes inside of another.
func (m *nftMessage) nest(kind int, write func()) {
	start := m.open(kind)
	write()
	m.close(start)
}

// nftWork collects the messages of a transaction.
type nftWork struct {
	msgs   []message
	family uint8
	table  string
	words  string // of the family and the table
	sets   uint32
}

func (w *nftWork) start(cmd, flags, tableAttr int) *nftMessage {
	m := startNFT(cmd, flags, w.family)
	m.text(tableAttr, w.table)
	return m
}

func (w *nftWork) add(m *nftMessage, format string, args ...any) {
	words := w.words
	w.msgs = append(w.msgs, m.done(func() string { return "nft " + fmt.Sprintf(format, append([]any{words}, args...)...) }))
}

// edit adds the messages of one table. What is asked for by something else is made
// before it, and goes after it: chains, sets, elements, rules. Rules of base chains come
// last, should it take several transactions.
func (w *nftWork) edit(e *plan.NFTEdit) error {
	family, err := nftFamily(e.Family)
	if err != nil {
		return err
	}
	w.family, w.table, w.words = family, e.Name, e.Family+" "+e.Name
	if e.Remove {
		w.add(w.start(unix.NFT_MSG_DELTABLE, 0, unix.NFTA_TABLE_NAME), "delete table %s")
		return nil
	}
	if e.Create {
		w.add(w.start(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, unix.NFTA_TABLE_NAME), "add table %s")
	}
	for _, name := range e.Renew {
		w.flush(name)
		w.deleteChain(name)
	}
	for i := range e.Chains {
		if err := w.chain(&e.Chains[i]); err != nil {
			return err
		}
		if !e.Create {
			w.flush(e.Chains[i].Name)
		}
	}
	for _, name := range e.DeleteChains {
		w.flush(name)
	}
	if err := w.setEdits(e); err != nil {
		return err
	}
	for _, base := range []bool{false, true} {
		for i := range e.Chains {
			if c := &e.Chains[i]; c.IsBase() == base {
				if err := w.rules(c); err != nil {
					return fmt.Errorf("nft add rule %s %s: %w", w.words, c.Name, err)
				}
			}
		}
	}
	for _, name := range e.DeleteChains {
		w.deleteChain(name)
	}
	return nil
}

func (w *nftWork) setEdits(e *plan.NFTEdit) error {
	for i := range e.Elements {
		x := &e.Elements[i]
		if err := w.elements(unix.NFT_MSG_DELSETELEM, &x.Set, x.Delete); err != nil {
			return err
		}
	}
	for i := range e.DeleteSets {
		m := w.start(unix.NFT_MSG_DELSET, 0, unix.NFTA_SET_TABLE)
		m.text(unix.NFTA_SET_NAME, e.DeleteSets[i].Name)
		w.add(m, "delete set %s %s", e.DeleteSets[i].Name)
	}
	for i := range e.Sets {
		s := &e.Sets[i]
		if err := w.set(s); err != nil {
			return err
		}
		if err := w.elements(unix.NFT_MSG_NEWSETELEM, s, s.Elements); err != nil {
			return err
		}
	}
	for i := range e.Elements {
		x := &e.Elements[i]
		if err := w.elements(unix.NFT_MSG_NEWSETELEM, &x.Set, x.Add); err != nil {
			return err
		}
	}
	return nil
}

// flush takes all rules of a chain away.
func (w *nftWork) flush(chain string) {
	m := w.start(unix.NFT_MSG_DELRULE, 0, unix.NFTA_RULE_TABLE)
	m.text(unix.NFTA_RULE_CHAIN, chain)
	w.add(m, "flush chain %s %s", chain)
}

func (w *nftWork) deleteChain(name string) {
	m := w.start(unix.NFT_MSG_DELCHAIN, 0, unix.NFTA_CHAIN_TABLE)
	m.text(unix.NFTA_CHAIN_NAME, name)
	w.add(m, "delete chain %s %s", name)
}

// chain makes a chain, or gives one that is there its policy.
func (w *nftWork) chain(c *plan.NFTChain) error {
	m := w.start(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE, unix.NFTA_CHAIN_TABLE)
	m.text(unix.NFTA_CHAIN_NAME, c.Name)
	if !c.IsBase() {
		w.add(m, "add chain %s %s", c.Name)
		return nil
	}
	hook, ok := nftHooks()[c.Hook]
	policy := map[string]uint32{"accept": nfAccept, "drop": nfDrop}
	verdict, known := policy[c.Policy]
	if !ok || !known {
		return fmt.Errorf("nft add chain %s %s: unknown hook or policy: %s", w.words, c.Name, c.Spec())
	}
	m.nest(unix.NFTA_CHAIN_HOOK, func() {
		m.number(unix.NFTA_HOOK_HOOKNUM, hook)
		m.number(unix.NFTA_HOOK_PRIORITY, uint32(int32(c.Priority)))
	})
	m.number(unix.NFTA_CHAIN_POLICY, verdict)
	m.text(unix.NFTA_CHAIN_TYPE, c.Type)
	w.add(m, "add chain %s %s { %s }", c.Name, c.Spec())
	return nil
}

func nftHooks() map[string]uint32 {
	return map[string]uint32{"prerouting": 0, "input": 1, "forward": 2, "output": 3, "postrouting": 4}
}

// set makes a set without its elements.
func (w *nftWork) set(s *plan.NFTSet) error {
	m := w.start(unix.NFT_MSG_NEWSET, unix.NLM_F_CREATE|unix.NLM_F_EXCL, unix.NFTA_SET_TABLE)
	m.text(unix.NFTA_SET_NAME, s.Name)
	w.sets++
	m.number(unix.NFTA_SET_ID, w.sets)
	flags := uint32(0)
	if s.Interval {
		flags |= unix.NFT_SET_INTERVAL
	}
	if s.Interval && len(s.Key) > 1 {
		flags |= nftSetConcat
	}
	if s.IsMap() {
		flags |= unix.NFT_SET_MAP
	}
	kind, lengths, err := nftKey(s.Key)
	if err != nil {
		return fmt.Errorf("nft add set %s %s: %w", w.words, s.Name, err)
	}
	m.number(unix.NFTA_SET_FLAGS, flags)
	m.number(unix.NFTA_SET_KEY_TYPE, kind)
	m.number(unix.NFTA_SET_KEY_LEN, nftLength(lengths))
	switch {
	case s.HasVerdicts():
		m.number(unix.NFTA_SET_DATA_TYPE, unix.NFT_DATA_VERDICT)
		m.number(unix.NFTA_SET_DATA_LEN, 16) // nobody looks at it
	case s.IsMap():
		kind, data, err := nftKey(s.Data)
		if err != nil {
			return fmt.Errorf("nft add map %s %s: %w", w.words, s.Name, err)
		}
		m.number(unix.NFTA_SET_DATA_TYPE, kind)
		m.number(unix.NFTA_SET_DATA_LEN, nftLength(data))
	}
	switch n := len(s.Elements); {
	case flags&nftSetConcat == 0 && n >= nftMany && !s.Interval:
		m.nest(unix.NFTA_SET_DESC, func() { m.number(unix.NFTA_SET_DESC_SIZE, uint32(max(8*n, nftRoom))) })
	case flags&nftSetConcat != 0:
		m.nest(unix.NFTA_SET_DESC, func() {
			m.nest(nftDescConcat, func() {
				for _, n := range lengths {
					m.nest(unix.NFTA_LIST_ELEM, func() { m.number(nftFieldLen, n) })
				}
			})
		})
	}
	w.add(m, "add set %s %s { %s }", s.Name, s.Spec())
	return nil
}

// Numbers that x/sys/unix does not name (include/uapi/linux/netfilter.h and
// netfilter/nf_tables.h).
const (
	nfDrop        = 0
	nfAccept      = 1
	nftSetConcat  = 0x80 // NFT_SET_CONCAT
	nftDescConcat = 2    // NFTA_SET_DESC_CONCAT
	nftFieldLen   = 1    // NFTA_SET_FIELD_LEN
	nftKeyEnd     = 10   // NFTA_SET_ELEM_KEY_END
	nftRangeOp    = 2    // NFTA_RANGE_OP and what follows
	nftRangeFrom  = 3
	nftRangeTo    = 4
)

// A set to which a size is given has as many buckets from the beginning, and takes no
// more elements; others grow, which is slow when thousands of elements come at once.
// So only sets that begin with many elements get a size, with room to spare.
const (
	nftMany = 2048
	nftRoom = 65536
)

// nftTypeOf is the number and the length of a type (enum datatypes of nft, which alone
// gives numbers a meaning).
func nftTypeOf(t plan.NFTType) (number, length uint32) {
	switch t {
	case plan.NFTIPv4:
		return 7, 4
	case plan.NFTIPv6:
		return 8, 16
	case plan.NFTProto:
		return 12, 1
	case plan.NFTPort:
		return 13, 2
	case plan.NFTMark:
		return 19, 4
	case plan.NFTIfName:
		return 41, 16
	}
	return 0, 0
}

// nftKey is the number of a type, six bits for each part, and the lengths of the parts.
func nftKey(types []plan.NFTType) (kind uint32, lengths []uint32, err error) {
	for _, t := range types {
		number, length := nftTypeOf(t)
		if number == 0 {
			return 0, nil, fmt.Errorf("unknown type %q", t)
		}
		kind = kind<<6 | number
		lengths = append(lengths, length)
	}
	return kind, lengths, nil
}

// nftLength is the length of a key: parts of several are padded to four bytes.
func nftLength(lengths []uint32) uint32 {
	if len(lengths) == 1 {
		return lengths[0]
	}
	sum := uint32(0)
	for _, n := range lengths {
		sum += (n + 3) &^ 3
	}
	return sum
}

// maxNFTElements bounds the bytes of elements in one message: the attribute that holds
// them all has 16 bits for its length.
const maxNFTElements = math.MaxUint16 - 1024

// elements adds elements to a set, or deletes them.
func (w *nftWork) elements(cmd int, s *plan.NFTSet, list []plan.NFTElement) error {
	verb, flags := "delete", 0
	if cmd == unix.NFT_MSG_NEWSETELEM {
		verb, flags = "add", unix.NLM_F_CREATE|unix.NLM_F_EXCL
	}
	for len(list) > 0 {
		m := w.start(cmd, flags, unix.NFTA_SET_ELEM_LIST_TABLE)
		m.text(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
		start := m.open(unix.NFTA_SET_ELEM_LIST_ELEMENTS)
		n := 0
		for n < len(list) && len(m.b)-start < maxNFTElements {
			if err := m.element(s, &list[n], cmd == unix.NFT_MSG_NEWSETELEM); err != nil {
				return fmt.Errorf("nft %s element %s %s { %s }: %w", verb, w.words, s.Name, s.Words(&list[n]), err)
			}
			n++
		}
		m.close(start)
		firstOf := s.Words(&list[0])
		w.add(m, verb+" element %s %s { %s } (%d elements from this on)", s.Name, firstOf, n)
		list = list[n:]
	}
	return nil
}

// element appends one element. An interval of a key with one part is two: its begin,
// and the first key behind it.
func (m *nftMessage) element(s *plan.NFTSet, e *plan.NFTElement, data bool) error {
	var first, last []byte
	var err error
	pad := len(s.Key) > 1
	for i, t := range s.Key {
		if i >= len(e.Key) {
			return fmt.Errorf("the key lacks parts")
		}
		if first, last, err = nftAppendValue(first, last, t, e.Key[i], pad); err != nil {
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
			if payload, _, err = nftAppendValue(payload, nil, t, e.Data[i], len(s.Data) > 1); err != nil {
				return err
			}
		}
	}
	m.nest(unix.NFTA_LIST_ELEM, func() {
		m.nest(unix.NFTA_SET_ELEM_KEY, func() { m.attr(unix.NFTA_DATA_VALUE, first...) })
		if s.Interval && pad {
			m.nest(nftKeyEnd, func() { m.attr(unix.NFTA_DATA_VALUE, last...) })
		}
		switch {
		case !data || !s.IsMap():
		case s.HasVerdicts():
			m.nest(unix.NFTA_SET_ELEM_DATA, func() { err = m.verdict(e.Verdict) })
		default:
			m.nest(unix.NFTA_SET_ELEM_DATA, func() { m.attr(unix.NFTA_DATA_VALUE, payload...) })
		}
	})
	if err == nil && s.Interval && !pad && nftIncrement(last) {
		m.nest(unix.NFTA_LIST_ELEM, func() {
			m.nest(unix.NFTA_SET_ELEM_KEY, func() { m.attr(unix.NFTA_DATA_VALUE, last...) })
			m.number(unix.NFTA_SET_ELEM_FLAGS, unix.NFT_SET_ELEM_INTERVAL_END)
		})
	}
	return err
}

// nftIncrement makes a key the next one, and reports whether there is one.
func nftIncrement(key []byte) bool {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i]++; key[i] != 0 {
			return true
		}
	}
	return false
}

// nftAppendValue appends the bytes of the first and of the last value of a range.
func nftAppendValue(first, last []byte, t plan.NFTType, v plan.NFTValue, pad bool) (from, to []byte, err error) {
	switch t {
	case plan.NFTIPv4, plan.NFTIPv6:
		a := v.Prefix.Masked().Addr().AsSlice()
		if _, n := nftTypeOf(t); len(a) != int(n) {
			return nil, nil, fmt.Errorf("%s is no %s", v.Prefix, t)
		}
		first, last = append(first, a...), append(last, a...)
		for bit := v.Prefix.Bits(); bit < 8*len(a); bit++ {
			last[len(last)-len(a)+bit/8] |= 0x80 >> (bit % 8)
		}
	case plan.NFTIfName:
		var name [16]byte
		if copy(name[:15], v.Name) < len(v.Name) {
			return nil, nil, fmt.Errorf("link name %q is too long", v.Name)
		}
		first, last = append(first, name[:]...), append(last, name[:]...)
	case plan.NFTMark:
		first, last = binary.NativeEndian.AppendUint32(first, v.First), binary.NativeEndian.AppendUint32(last, v.Last)
	case plan.NFTPort:
		first, last = binary.BigEndian.AppendUint16(first, uint16(v.First)), binary.BigEndian.AppendUint16(last, uint16(v.Last))
	case plan.NFTProto:
		first, last = append(first, byte(v.First)), append(last, byte(v.Last))
	default:
		return nil, nil, fmt.Errorf("unknown type %q", t)
	}
	for pad && len(first)%4 != 0 {
		first, last = append(first, 0), append(last, 0)
	}
	return first, last, nil
}
