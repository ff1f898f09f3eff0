//go:build linux

package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// readNFTOf lists the tables of a namespace where there could be any. The calling thread
// is in it.
func readNFTOf(s *space, want, n *plan.Netns) (err error) {
	if s.nft || s.kind == plan.Node || want != nil && len(want.NFT) > 0 {
		n.NFT, err = readNFT()
	}
	return err
}

// readNFT lists the tables of the calling thread's namespace, but for those of
// iptables-nft. Rules become text: what is not written as plans do reads unlike any of
// their rules.
func readNFT() ([]plan.NFTTable, error) {
	var tables []plan.NFTTable
	err := nftDump(unix.NFT_MSG_GETTABLE, unix.AF_UNSPEC, nil, func(family uint8, a attrs) error {
		name := map[uint8]string{unix.NFPROTO_INET: "inet", unix.NFPROTO_IPV4: "ip", unix.NFPROTO_IPV6: "ip6"}[family]
		if t := a.text(unix.NFTA_TABLE_NAME); name != "" && !ofIPTables(name, t) {
			tables = append(tables, plan.NFTTable{Family: name, Name: t})
		}
		return nil
	})
	for i := range tables {
		if err == nil {
			err = readNFTTable(&tables[i])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("nft list: %w", err)
	}
	return tables, nil
}

// ofIPTables reports whether a table is one that iptables-nft keeps.
func ofIPTables(family, name string) bool {
	return family != "inet" && slices.Contains([]string{"raw", "mangle", "nat", "filter", "security"}, name)
}

func readNFTTable(t *plan.NFTTable) error {
	family, err := nftFamily(t.Family)
	if err != nil {
		return err
	}
	mine := func(attr int) func(m *nftMessage) { return func(m *nftMessage) { m.text(attr, t.Name) } }
	keys := map[string]int{} // of sets: the number of parts
	err = nftDump(unix.NFT_MSG_GETSET, family, mine(unix.NFTA_SET_TABLE), func(_ uint8, a attrs) error {
		if a.text(unix.NFTA_SET_TABLE) != t.Name || a.number(unix.NFTA_SET_FLAGS)&unix.NFT_SET_ANONYMOUS != 0 {
			return nil
		}
		s := parseNFTSet(a)
		keys[s.Name] = len(s.Key)
		t.Sets = append(t.Sets, s)
		return nil
	})
	for i := range t.Sets {
		if err == nil {
			err = readNFTElements(family, t.Name, &t.Sets[i])
		}
	}
	if err != nil {
		return err
	}
	chains := map[string]int{}
	err = nftDump(unix.NFT_MSG_GETCHAIN, family, nil, func(_ uint8, a attrs) error {
		if a.text(unix.NFTA_CHAIN_TABLE) == t.Name {
			c := parseNFTChain(a)
			chains[c.Name] = len(t.Chains)
			t.Chains = append(t.Chains, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return nftDump(unix.NFT_MSG_GETRULE, family, mine(unix.NFTA_RULE_TABLE), func(_ uint8, a attrs) error {
		i, ok := chains[a.text(unix.NFTA_RULE_CHAIN)]
		if !ok || a.text(unix.NFTA_RULE_TABLE) != t.Name {
			return nil
		}
		r, err := nftDecompile(a[unix.NFTA_RULE_EXPRESSIONS], keys)
		if err != nil {
			return err
		}
		t.Chains[i].Rules = append(t.Chains[i].Rules, plan.NFTRaw(r, nftComment(a[unix.NFTA_RULE_USERDATA])))
		return nil
	})
}

// attrs are the attributes of a message or of one of them, by type.
type attrs map[uint16][]byte

func parseAttrs(b []byte) (attrs, error) {
	a := attrs{}
	err := eachAttr(b, func(kind uint16, value []byte) error { a[kind] = value; return nil })
	return a, err
}

func (a attrs) text(kind uint16) string {
	if v := a[kind]; len(v) > 0 {
		return nl.BytesToString(v)
	}
	return ""
}

func (a attrs) number(kind uint16) uint32 {
	switch v := a[kind]; len(v) {
	case 1:
		return uint32(v[0])
	case 4:
		return binary.BigEndian.Uint32(v)
	}
	return 0
}

// inner are the attributes inside of one; broken ones are none.
func (a attrs) inner(kind uint16) attrs {
	in, err := parseAttrs(a[kind])
	if err != nil {
		return attrs{}
	}
	return in
}

// nftDump asks for a list, and calls do with the family and attributes of each answer.
func nftDump(cmd int, family uint8, about func(m *nftMessage), do func(family uint8, a attrs) error) error {
	req := nl.NewNetlinkRequest(nftSubsystem|cmd, unix.NLM_F_DUMP)
	m := startNFT(cmd, 0, family)
	if about != nil {
		about(m)
	}
	req.AddRawData(m.b[unix.NLMSG_HDRLEN:])
	msgs, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil {
		return err
	}
	for _, b := range msgs {
		if len(b) < nl.SizeofNfgenmsg {
			return errShort
		}
		a, err := parseAttrs(b[nl.SizeofNfgenmsg:])
		if err != nil {
			return err
		}
		if err := do(b[0], a); err != nil {
			return err
		}
	}
	return nil
}

func parseNFTSet(a attrs) plan.NFTSet {
	flags := a.number(unix.NFTA_SET_FLAGS)
	s := plan.NFTSet{Name: a.text(unix.NFTA_SET_NAME), Key: nftTypesOf(a.number(unix.NFTA_SET_KEY_TYPE)),
		Interval: flags&unix.NFT_SET_INTERVAL != 0}
	if flags&unix.NFT_SET_MAP != 0 {
		s.Data = []plan.NFTType{plan.NFTVerdictData}
		if kind := a.number(unix.NFTA_SET_DATA_TYPE); kind != unix.NFT_DATA_VERDICT {
			s.Data = nftTypesOf(kind)
		}
	}
	return s
}

// nftTypesOf is the reverse of nftKey. Types that plans do not know have their number
// for a name.
func nftTypesOf(kind uint32) []plan.NFTType {
	var types []plan.NFTType
	for ; kind > 0; kind >>= 6 {
		t := plan.NFTType(fmt.Sprint(kind & 63))
		for _, known := range []plan.NFTType{plan.NFTIPv4, plan.NFTIPv6, plan.NFTProto, plan.NFTPort, plan.NFTMark, plan.NFTIfName} {
			if number, _ := nftTypeOf(known); number == kind&63 {
				t = known
			}
		}
		types = append(types, t)
	}
	slices.Reverse(types)
	return types
}

func parseNFTChain(a attrs) plan.NFTChain {
	c := plan.NFTChain{Name: a.text(unix.NFTA_CHAIN_NAME)}
	if a[unix.NFTA_CHAIN_HOOK] == nil {
		return c
	}
	hook := a.inner(unix.NFTA_CHAIN_HOOK)
	for name, number := range nftHooks() {
		if number == hook.number(unix.NFTA_HOOK_HOOKNUM) {
			c.Hook = name
		}
	}
	c.Type, c.Priority, c.Policy = a.text(unix.NFTA_CHAIN_TYPE), int(int32(hook.number(unix.NFTA_HOOK_PRIORITY))), "accept"
	if a.number(unix.NFTA_CHAIN_POLICY) == nfDrop {
		c.Policy = "drop"
	}
	return c
}

// nftComment finds the comment in what a rule's maker noted with it.
func nftComment(b []byte) string {
	for len(b) >= 2 && len(b) >= 2+int(b[1]) {
		if b[0] == 0 && b[1] > 0 {
			return string(b[2 : 1+int(b[1])])
		}
		b = b[2+int(b[1]):]
	}
	return ""
}

// nftBound is an element as the kernel lists it: of an interval without KEY_END, one of
// its two ends.
type nftBound struct {
	key, last []byte
	end       bool
	element   plan.NFTElement
}

// readNFTElements lists the elements of a set.
func readNFTElements(family uint8, table string, s *plan.NFTSet) error {
	var bounds []nftBound
	about := func(m *nftMessage) {
		m.text(unix.NFTA_SET_ELEM_LIST_TABLE, table)
		m.text(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
	}
	err := nftDump(unix.NFT_MSG_GETSETELEM, family, about, func(_ uint8, a attrs) error {
		return eachAttr(a[unix.NFTA_SET_ELEM_LIST_ELEMENTS], func(_ uint16, b []byte) error {
			x, err := parseAttrs(b)
			if err != nil {
				return err
			}
			bound := nftBound{key: x.inner(unix.NFTA_SET_ELEM_KEY)[unix.NFTA_DATA_VALUE], last: x.inner(nftKeyEnd)[unix.NFTA_DATA_VALUE],
				end: x.number(unix.NFTA_SET_ELEM_FLAGS)&unix.NFT_SET_ELEM_INTERVAL_END != 0}
			if bound.last == nil {
				bound.last = bound.key
			}
			data := x.inner(unix.NFTA_SET_ELEM_DATA)
			if s.HasVerdicts() {
				bound.element.Verdict = nftVerdictOf(data)
			} else if s.IsMap() {
				value := data[unix.NFTA_DATA_VALUE]
				bound.element.Data = nftValues(s.Data, value, value)
			}
			bounds = append(bounds, bound)
			return nil
		})
	})
	if err != nil {
		return err
	}
	if s.Interval && len(s.Key) == 1 {
		bounds = nftIntervals(bounds)
	}
	for _, b := range bounds {
		b.element.Key = nftValues(s.Key, b.key, b.last)
		s.Elements = append(s.Elements, b.element)
	}
	return nil
}

// nftIntervals joins begins with ends, which are the first keys behind.
func nftIntervals(bounds []nftBound) []nftBound {
	slices.SortFunc(bounds, func(a, b nftBound) int {
		if c := slices.Compare(a.key, b.key); c != 0 || a.end == b.end {
			return c
		}
		if a.end {
			return -1
		}
		return 1
	})
	out := bounds[:0]
	for i, b := range bounds {
		if b.end {
			continue
		}
		b.last = slices.Clone(b.key)
		for j := range b.last {
			b.last[j] = 0xff
		}
		if i+1 < len(bounds) {
			b.last = slices.Clone(bounds[i+1].key)
			nftDecrement(b.last)
		}
		out = append(out, b)
	}
	return out
}

func nftDecrement(key []byte) {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i]--; key[i] != 0xff {
			return
		}
	}
}

func nftVerdictOf(data attrs) plan.NFTVerdict {
	verdict := data.inner(unix.NFTA_DATA_VERDICT)
	code := int32(verdict.number(unix.NFTA_VERDICT_CODE))
	for kind, c := range nftVerdicts() {
		if c == code {
			return plan.NFTVerdict{Kind: kind, Chain: verdict.text(unix.NFTA_VERDICT_CHAIN)}
		}
	}
	return plan.NFTVerdict{Kind: fmt.Sprintf("verdict %d", code)}
}

// nftValues is the reverse of nftAppendValue for all parts of a key.
func nftValues(types []plan.NFTType, first, last []byte) []plan.NFTValue {
	out := make([]plan.NFTValue, 0, len(types))
	for _, t := range types {
		_, n := nftTypeOf(t)
		if n == 0 || len(first) < int(n) || len(last) < int(n) {
			return append(out, plan.NFTName(fmt.Sprintf("%x-%x", first, last)))
		}
		out = append(out, nftValueOf(t, first[:n], last[:n]))
		padded := min(int(n+3)&^3, len(first), len(last))
		first, last = first[padded:], last[padded:]
	}
	return out
}

func nftValueOf(t plan.NFTType, first, last []byte) plan.NFTValue {
	switch t {
	case plan.NFTIPv4, plan.NFTIPv6:
		from, _ := netip.AddrFromSlice(first)
		for bits := from.BitLen(); bits >= 0; bits-- { // the longest that ends there
			p := netip.PrefixFrom(from, bits)
			if p.Masked() != p {
				break
			}
			_, end, err := nftAppendValue(nil, nil, t, plan.NFTPrefix(p), false)
			if err == nil && slices.Equal(end, last) {
				return plan.NFTPrefix(p)
			}
		}
		return plan.NFTValue{Prefix: netip.PrefixFrom(from, from.BitLen()), Name: fmt.Sprintf("%x-%x", first, last)}
	case plan.NFTIfName:
		return plan.NFTName(nl.BytesToString(append(slices.Clone(first), 0)))
	case plan.NFTMark:
		return plan.NFTRange(binary.NativeEndian.Uint32(first), binary.NativeEndian.Uint32(last))
	case plan.NFTPort:
		return plan.NFTRange(uint32(binary.BigEndian.Uint16(first)), uint32(binary.BigEndian.Uint16(last)))
	}
	return plan.NFTRange(uint32(first[0]), uint32(last[0]))
}
