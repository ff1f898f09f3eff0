//go:build linux

package nftables

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// Read lists the tables of the calling thread's namespace, without those of iptables-nft
// if they are read as iptables, unless they are dormant. Rules become text: what plans would write differently does
// not equal any of their rules. Of families that no plan has only names are read.
func Read(iptables bool) (tables []nft.Table, err error) {
	for began := time.Now(); ; {
		tables, err = read(iptables, nil)
		if !errors.Is(err, netlink.ErrDumpInterrupted) || time.Since(began) > patience {
			return tables, err
		}
		time.Sleep(pause)
	}
}

// An agent changes the rules while they are read: how long that is tried again, and how often.
const (
	patience = 3 * time.Second
	pause    = 10 * time.Millisecond
)

const tableDormant = 1 // NFT_TABLE_F_DORMANT

// read is Read that tells count of each rule, in words, and its attributes.
func read(iptables bool, count func(t *nft.Table, chain, rule string, a attrs)) ([]nft.Table, error) {
	var tables []nft.Table
	err := dump(unix.NFT_MSG_GETTABLE, unix.AF_UNSPEC, nil, func(family uint8, a attrs) error {
		name := map[uint8]string{unix.NFPROTO_INET: "inet", unix.NFPROTO_IPV4: "ip", unix.NFPROTO_IPV6: "ip6"}[family]
		name = cmp.Or(name, nameOf(others, family))
		dormant := a.number(unix.NFTA_TABLE_FLAGS)&tableDormant != 0
		if t := a.Text(unix.NFTA_TABLE_NAME); name != "" && (!iptables || !ofIPTables(name, t) || dormant || others[name] != 0) {
			tables = append(tables, nft.Table{Family: name, Name: t, Dormant: dormant, Comment: nftComment(a[tableUserdata], commentOf)})
		}
		return nil
	})
	for i := range tables {
		if err != nil {
			break
		}
		if _, other := others[tables[i].Family]; other {
			err = readNames(&tables[i])
		} else {
			err = readTable(&tables[i], count)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("nft list: %w", err)
	}
	return slices.DeleteFunc(tables, func(t nft.Table) bool { return idle(t) && (!iptables || !t.Dormant || others[t.Family] != 0) }), nil
}

// readNames reads the chains of a table, without what their rules say.
func readNames(t *nft.Table) error {
	family := others[t.Family]
	err := dump(unix.NFT_MSG_GETCHAIN, family, nil, func(_ uint8, a attrs) error {
		if a.Text(unix.NFTA_CHAIN_TABLE) == t.Name {
			t.Chains = append(t.Chains, parseNFTChain(a))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return dump(unix.NFT_MSG_GETRULE, family, nil, func(_ uint8, a attrs) error {
		for i := range t.Chains {
			if t.Name == a.Text(unix.NFTA_RULE_TABLE) && t.Chains[i].Name == a.Text(unix.NFTA_RULE_CHAIN) {
				t.Chains[i].Rules = append(t.Chains[i].Rules, nft.Rule{})
			}
		}
		return nil
	})
}

// idle reports whether a table is one that iptables-nft, ebtables or arptables creates when it lists rules.
func idle(t nft.Table) bool {
	return ofIPTables(t.Family, t.Name) && !slices.ContainsFunc(t.Chains, func(c nft.Chain) bool { return len(c.Rules) > 0 || c.Policy == "drop" })
}

func ofIPTables(family, name string) bool {
	return family != "inet" && family != "netdev" && slices.Contains([]string{"raw", "mangle", "nat", "filter", "security"}, name)
}

func readTable(t *nft.Table, count func(t *nft.Table, chain, rule string, a attrs)) error {
	family, err := family(t.Family)
	if err != nil {
		return err
	}
	mine := func(attr int) func(m *message) { return func(m *message) { m.Text(attr, t.Name) } }
	sets := map[string]known{}
	err = dump(unix.NFT_MSG_GETSET, family, mine(unix.NFTA_SET_TABLE), func(_ uint8, a attrs) error {
		if a.Text(unix.NFTA_SET_TABLE) == t.Name {
			s := parseNFTSet(a)
			sets[s.Name] = known{&s, a.number(unix.NFTA_SET_FLAGS)&unix.NFT_SET_ANONYMOUS != 0}
		}
		return nil
	})
	for _, s := range sets {
		if err == nil && s.Timeout == 0 {
			err = readNFTElements(family, t.Name, s.Set)
		}
		if s.anonymous {
			s.Sort()
		} else {
			t.Sets = append(t.Sets, *s.Set)
		}
	}
	if err != nil {
		return err
	}
	chains := map[string]int{}
	err = dump(unix.NFT_MSG_GETCHAIN, family, nil, func(_ uint8, a attrs) error {
		if a.Text(unix.NFTA_CHAIN_TABLE) == t.Name {
			c := parseNFTChain(a)
			chains[c.Name] = len(t.Chains)
			t.Chains = append(t.Chains, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return dump(unix.NFT_MSG_GETRULE, family, mine(unix.NFTA_RULE_TABLE), func(_ uint8, a attrs) error {
		i, ok := chains[a.Text(unix.NFTA_RULE_CHAIN)]
		if !ok || a.Text(unix.NFTA_RULE_TABLE) != t.Name {
			return nil
		}
		r, err := nftDecompile(a[unix.NFTA_RULE_EXPRESSIONS], family, sets)
		if err != nil {
			return err
		}
		rule := nft.Raw(r, nftComment(a[unix.NFTA_RULE_USERDATA], commentOf))
		t.Chains[i].Rules = append(t.Chains[i].Rules, rule)
		if count != nil {
			count(t, t.Chains[i].Name, rule.Words(), a)
		}
		return nil
	})
}

// attrs are the attributes of a message or of one of them, by type.
type attrs map[uint16][]byte

func parseAttrs(b []byte) (attrs, error) {
	a := attrs{}
	err := socket.EachAttr(b, func(kind uint16, value []byte) error { a[kind] = value; return nil })
	return a, err
}

func (a attrs) Text(kind uint16) string {
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

// inner returns the attributes nested in one; none if malformed.
func (a attrs) inner(kind uint16) attrs {
	in, err := parseAttrs(a[kind])
	if err != nil {
		return attrs{}
	}
	return in
}

// dump requests a list, and calls do with the family and attributes of each answer.
func dump(cmd int, family uint8, about func(m *message), do func(family uint8, a attrs) error) error {
	req := nl.NewNetlinkRequest(nftSubsystem|cmd, unix.NLM_F_DUMP)
	m := startMessage(cmd, 0, family)
	if about != nil {
		about(m)
	}
	req.AddRawData(m.B[unix.NLMSG_HDRLEN:])
	msgs, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil {
		return err
	}
	for _, b := range msgs {
		if len(b) < nl.SizeofNfgenmsg {
			return socket.ErrShort
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

func parseNFTSet(a attrs) nft.Set {
	flags := a.number(unix.NFTA_SET_FLAGS)
	s := nft.Set{Name: a.Text(unix.NFTA_SET_NAME), Key: nftTypesOf(a.number(unix.NFTA_SET_KEY_TYPE)),
		Interval: flags&unix.NFT_SET_INTERVAL != 0, Comment: nftComment(a[setUserdata], setCommentOf)}
	if b := a[unix.NFTA_SET_TIMEOUT]; len(b) == 8 {
		s.Timeout = uint32(binary.BigEndian.Uint64(b) / 1000)
	}
	if flags&unix.NFT_SET_MAP != 0 {
		s.Data = []nft.Type{nft.VerdictData}
		if kind := a.number(unix.NFTA_SET_DATA_TYPE); kind != unix.NFT_DATA_VERDICT {
			s.Data = nftTypesOf(kind)
		}
	}
	return s
}

// nftTypesOf is the reverse of nftKey. Types that plans do not use have their number as
// name.
func nftTypesOf(kind uint32) []nft.Type {
	var types []nft.Type
	for ; kind > 0; kind >>= 6 {
		t := nft.Type(fmt.Sprint(kind & 63))
		for _, known := range []nft.Type{nft.IPv4, nft.IPv6, nft.Proto, nft.Port, nft.Mark, nft.IfName, nft.Integer} {
			if number, _ := typeOf(known); number == kind&63 {
				t = known
			}
		}
		types = append(types, t)
	}
	slices.Reverse(types)
	return types
}

func parseNFTChain(a attrs) nft.Chain {
	c := nft.Chain{Name: a.Text(unix.NFTA_CHAIN_NAME), Comment: nftComment(a[chainUserdata], commentOf)}
	if a[unix.NFTA_CHAIN_HOOK] == nil {
		return c
	}
	hook := a.inner(unix.NFTA_CHAIN_HOOK)
	c.Hook = nameOf(hooks(), hook.number(unix.NFTA_HOOK_HOOKNUM))
	c.Type, c.Priority, c.Policy = a.Text(unix.NFTA_CHAIN_TYPE), int(int32(hook.number(unix.NFTA_HOOK_PRIORITY))), "accept"
	if a.number(unix.NFTA_CHAIN_POLICY) == nfDrop {
		c.Policy = "drop"
	}
	return c
}

func nftComment(b []byte, kind byte) string {
	for len(b) >= 2 && len(b) >= 2+int(b[1]) {
		if b[0] == kind && b[1] > 0 {
			return string(b[2 : 1+int(b[1])])
		}
		b = b[2+int(b[1]):]
	}
	return ""
}

// nftBound is an element as the kernel lists it: for an interval without KEY_END, one
// of its two ends.
type nftBound struct {
	key, last []byte
	end       bool
	element   nft.Element
}

func readNFTElements(family uint8, table string, s *nft.Set) error {
	var bounds []nftBound
	about := func(m *message) {
		m.Text(unix.NFTA_SET_ELEM_LIST_TABLE, table)
		m.Text(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
	}
	err := dump(unix.NFT_MSG_GETSETELEM, family, about, func(_ uint8, a attrs) error {
		return socket.EachAttr(a[unix.NFTA_SET_ELEM_LIST_ELEMENTS], func(_ uint16, b []byte) error {
			x, err := parseAttrs(b)
			if err != nil {
				return err
			}
			bound := nftBound{key: x.inner(unix.NFTA_SET_ELEM_KEY)[unix.NFTA_DATA_VALUE], last: x.inner(keyEnd)[unix.NFTA_DATA_VALUE],
				end: x.number(unix.NFTA_SET_ELEM_FLAGS)&unix.NFT_SET_ELEM_INTERVAL_END != 0}
			if bound.last == nil {
				bound.last = bound.key
			}
			bound.element.Comment = nftComment(x[unix.NFTA_SET_ELEM_USERDATA], commentOf)
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

// nftIntervals joins starts with ends, which are the first keys after an interval.
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

func nftVerdictOf(data attrs) nft.Verdict {
	verdict := data.inner(unix.NFTA_DATA_VERDICT)
	code := int32(verdict.number(unix.NFTA_VERDICT_CODE))
	kind := cmp.Or(nameOf(nftVerdicts(), code), fmt.Sprintf("verdict %d", code))
	return nft.Verdict{Kind: kind, Chain: verdict.Text(unix.NFTA_VERDICT_CHAIN)}
}

// nameOf is the name of a number; empty: it has none.
func nameOf[N comparable](numbers map[string]N, n N) string {
	for name, known := range numbers {
		if known == n {
			return name
		}
	}
	return ""
}

// nftValues is the reverse of nftAppendValue for all parts of a key.
func nftValues(types []nft.Type, first, last []byte) []nft.Value {
	out := make([]nft.Value, 0, len(types))
	for _, t := range types {
		_, n := typeOf(t)
		if n == 0 || len(first) < int(n) || len(last) < int(n) {
			return append(out, nft.Name(fmt.Sprintf("%x-%x", first, last)))
		}
		out = append(out, nftValueOf(t, first[:n], last[:n]))
		padded := min(int(n+3)&^3, len(first), len(last))
		first, last = first[padded:], last[padded:]
	}
	return out
}

func nftValueOf(t nft.Type, first, last []byte) nft.Value {
	switch t {
	case nft.IPv4, nft.IPv6:
		from, _ := netip.AddrFromSlice(first)
		for bits := from.BitLen(); bits >= 0; bits-- { // the longest prefix that ends there
			p := netip.PrefixFrom(from, bits)
			if p.Masked() != p {
				break
			}
			_, end, err := appendValue(nil, nil, t, nft.Prefix(p), false)
			if err == nil && slices.Equal(end, last) {
				return nft.Prefix(p)
			}
		}
		return nft.Value{Prefix: netip.PrefixFrom(from, from.BitLen()), Name: fmt.Sprintf("%x-%x", first, last)}
	case nft.IfName:
		return nft.Name(nl.BytesToString(append(slices.Clone(first), 0)))
	case nft.Mark, nft.Integer:
		return nft.Range(binary.NativeEndian.Uint32(first), binary.NativeEndian.Uint32(last))
	case nft.Port:
		return nft.Range(uint32(binary.BigEndian.Uint16(first)), uint32(binary.BigEndian.Uint16(last)))
	}
	return nft.Range(uint32(first[0]), uint32(last[0]))
}
