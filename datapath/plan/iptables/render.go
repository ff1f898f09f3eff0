package iptables

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Restore returns the rule as input for iptables-restore, appended to chain: the
// matches in the order in which they were written.
func (r *Rule) Restore(chain string) string {
	return string(r.appendRestore(nil, chain))
}

func (r *Rule) appendRestore(b []byte, chain string) []byte {
	b = append(append(b, "-A "...), chain...)
	if r.Raw != "" {
		return append(append(b, ' '), r.Raw...)
	}
	for _, m := range r.Matches {
		b = m.appendMatch(b, false)
	}
	if r.Target != nil {
		b = r.Target.appendTarget(b, false)
	}
	return b
}

// Save returns the rule as iptables-save prints it after the chain's name, so
// that it can be compared with what the kernel holds. The form is the same for
// the nft and the legacy variant of iptables 1.8: addresses, interfaces and
// protocol come first in a fixed order, the other matches as written.
func (r *Rule) Save() string {
	if r.Raw != "" {
		return r.Raw
	}
	return string(r.appendSave(nil))
}

func (r *Rule) appendSave(b []byte) []byte {
	if r.Raw != "" {
		return append(b, r.Raw...)
	}
	start := len(b)
	b = r.appendSaveHeader(b)
	for _, m := range r.Matches {
		switch m := m.(type) {
		case Src, Dst, InIf, OutIf, DPort, SPort, DPorts:
		case Proto:
			b = r.appendSaveProto(b, m)
		default:
			b = m.appendMatch(b, true)
		}
	}
	if r.Target != nil {
		b = r.Target.appendTarget(b, true)
	}
	if len(b) > start { // every part begins with a space
		b = append(b[:start], b[start+1:]...)
	}
	return b
}

// appendSaveHeader appends the conditions that are part of every iptables rule
// rather than of an extension.
func (r *Rule) appendSaveHeader(b []byte) []byte {
	for place := range 5 {
		for _, m := range r.Matches {
			if HeaderPlace(m) != place {
				continue
			}
			if p, ok := m.(Proto); ok {
				b = append(append(b, " -p "...), p.saveName()...)
			} else {
				b = m.appendMatch(b, true)
			}
		}
	}
	return b
}

// HeaderPlace is the place of a condition in the header; -1: it is of an extension.
func HeaderPlace(m Match) int {
	switch m.(type) {
	case Src:
		return 0
	case Dst:
		return 1
	case InIf:
		return 2
	case OutIf:
		return 3
	case Proto:
		return 4
	}
	return -1
}

func (r *Rule) appendSaveProto(b []byte, p Proto) []byte {
	if !p.hasExtension() {
		return b
	}
	b = append(append(b, " -m "...), p.Name...)
	for _, m := range r.Matches {
		switch m.(type) {
		case DPort, SPort, DPorts:
			b = m.appendMatch(b, true)
		}
	}
	return b
}

// appendPrefix writes a single address without a length, unless it is to be saved, and
// does not save what matches everything.
func appendPrefix(b []byte, flag string, p netip.Prefix, not, save bool) []byte {
	if save && p.Bits() == 0 && !not {
		return b
	}
	b = append(appendFlag(b, flag, not), ' ')
	switch {
	case save:
		return p.Masked().AppendTo(b)
	case p.IsSingleIP():
		return p.Addr().AppendTo(b)
	}
	return p.AppendTo(b)
}

func appendFlag(b []byte, flag string, not bool) []byte {
	b = append(b, ' ')
	if not {
		b = append(b, "! "...)
	}
	return append(b, flag...)
}

func (m Src) appendMatch(b []byte, save bool) []byte {
	return appendPrefix(b, "-s", m.Prefix, m.Not, save)
}

func (m Dst) appendMatch(b []byte, save bool) []byte {
	return appendPrefix(b, "-d", m.Prefix, m.Not, save)
}

func (m InIf) appendMatch(b []byte, _ bool) []byte {
	return append(append(appendFlag(b, "-i", m.Not), ' '), m.Name...)
}

func (m OutIf) appendMatch(b []byte, _ bool) []byte {
	return append(append(appendFlag(b, "-o", m.Not), ' '), m.Name...)
}

func (m Proto) hasExtension() bool {
	return !m.Plain && (m.Name == "tcp" || m.Name == "udp" || m.Name == "sctp")
}

// saveName is the protocol's name in /etc/protocols, which iptables-save uses.
func (m Proto) saveName() string {
	if m.Name == "icmpv6" {
		return "ipv6-icmp"
	}
	return m.Name
}

// IPIP is the protocol of packets with an IPv4 packet in them, by its name in /etc/protocols.
// Rules are written with the number, since not every system has that file.
const IPIP = "ipencap"

func (m Proto) appendMatch(b []byte, _ bool) []byte {
	if m.hasExtension() {
		b = append(append(b, " -m "...), m.Name...)
	}
	return append(append(b, " -p "...), m.number()...)
}

// number is the protocol as it is written for iptables-restore.
func (m Proto) number() string {
	if m.Name == IPIP {
		return "4"
	}
	return m.Name
}

func (m DPort) appendMatch(b []byte, _ bool) []byte {
	return strconv.AppendUint(append(b, " --dport "...), uint64(m.Port), 10)
}

func (m SPort) appendMatch(b []byte, _ bool) []byte {
	return strconv.AppendUint(append(b, " --sport "...), uint64(m.Port), 10)
}

func (m AddrType) appendMatch(b []byte, _ bool) []byte {
	b = append(b, " -m addrtype"...)
	if m.Src != "" {
		b = append(append(appendFlag(b, "--src-type", m.NotSrc), ' '), m.Src...)
	}
	if m.Dst != "" {
		b = append(append(b, " --dst-type "...), m.Dst...)
	}
	return b
}

func (m Mark) appendMatch(b []byte, _ bool) []byte {
	b = append(appendFlag(append(b, " -m mark"...), "--mark", m.Not), ' ')
	b = appendHex(b, m.Value)
	if m.Mask != 0 && m.Mask != math.MaxUint32 {
		b = appendHex(append(b, '/'), m.Mask)
	}
	return b
}

// appendMatch saves the states in the order in which xt_conntrack prints its bits.
func (m CTState) appendMatch(b []byte, save bool) []byte {
	b = append(appendFlag(append(b, " -m conntrack"...), "--ctstate", m.Not), ' ')
	start := len(b)
	for _, s := range m.States {
		if !save {
			b = append(append(b, s...), ',')
		}
	}
	for _, s := range []string{"INVALID", "NEW", "RELATED", "ESTABLISHED", "UNTRACKED", "SNAT", "DNAT"} {
		if save && slices.Contains(m.States, s) {
			b = append(append(b, s...), ',')
		}
	}
	return b[:max(start, len(b)-1)]
}

func (m State) appendMatch(b []byte, _ bool) []byte {
	return append(append(b, " -m state --state "...), m.State...)
}

// appendMatch saves the probability as rounded by the tool, which reads ten decimals,
// and the kernel, which holds it in 31 bits.
func (m Random) appendMatch(b []byte, save bool) []byte {
	b = append(b, " -m statistic --mode random --probability "...)
	if save {
		return strconv.AppendFloat(b, m.Effective(), 'f', 11, 64)
	}
	return strconv.AppendFloat(b, m.Probability, 'f', 10, 64)
}

// Effective is the probability that the kernel applies: the written one with ten
// decimals, rounded to a multiple of 2^-31 (struct xt_statistic_info).
func (m Random) Effective() float64 {
	const one = 1 << 31
	written := math.Round(m.Probability*1e10) / 1e10
	return math.Round(written*one) / one
}

// appendMatch saves the options in xt_recent's order, including implicit ones.
func (m Recent) appendMatch(b []byte, save bool) []byte {
	b = append(b, " -m recent"...)
	if !save {
		b = append(append(b, " --name "...), m.List...)
	}
	if m.Set {
		b = append(b, " --set"...)
	} else {
		b = append(b, " --rcheck"...)
		if m.Seconds > 0 {
			b = strconv.AppendInt(append(b, " --seconds "...), int64(m.Seconds), 10)
		}
		if m.Reap {
			b = append(b, " --reap"...)
		}
	}
	if !save {
		return b
	}
	b = append(append(b, " --name "...), m.List...)
	if m.IPv6 {
		return append(b, " --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource"...)
	}
	return append(b, " --mask 255.255.255.255 --rsource"...)
}

// appendMatch saves two spaces before the name, as libxt_nfacct does.
func (m NFAcct) appendMatch(b []byte, save bool) []byte {
	b = append(b, " -m nfacct --nfacct-name "...)
	if save {
		b = append(b, ' ')
	}
	return append(b, m.Object...)
}

func (m MatchSet) appendMatch(b []byte, _ bool) []byte {
	b = append(appendFlag(append(b, " -m set"...), "--match-set", m.Not), ' ')
	b = append(append(b, m.Set...), ' ')
	return append(b, m.Parts...)
}

func (m DPorts) appendMatch(b []byte, _ bool) []byte {
	b = strconv.AppendUint(append(b, " --dport "...), uint64(m.First), 10)
	if m.First == m.Last {
		return b
	}
	return strconv.AppendUint(append(b, ':'), uint64(m.Last), 10)
}

func (m MultiPort) appendMatch(b []byte, _ bool) []byte {
	return append(append(b, " -m multiport --dports "...), m.Ports...)
}

func (m Physdev) appendMatch(b []byte, _ bool) []byte {
	b = append(b, " -m physdev"...)
	if m.In != "" {
		b = append(append(b, " --physdev-in "...), m.In...)
	}
	if m.Out != "" {
		b = append(append(b, " --physdev-out "...), m.Out...)
	}
	if m.Bridged {
		b = append(b, " --physdev-is-bridged"...)
	}
	return b
}

func (m PhysdevIsIn) appendMatch(b []byte, _ bool) []byte {
	return appendFlag(append(b, " -m physdev"...), "--physdev-is-in", m.Not)
}

// appendMatch saves the protocol as its number, as xt_ipvs does.
func (m IPVS) appendMatch(b []byte, save bool) []byte {
	proto := m.Proto
	if save {
		proto = map[string]string{"tcp": "6", "udp": "17", "sctp": "132"}[proto]
	}
	b = append(append(b, " -m ipvs --vproto "...), proto...)
	b = m.Addr.AppendTo(append(b, " --vaddr "...))
	return strconv.AppendUint(append(b, " --vport "...), uint64(m.Port), 10)
}

func (m Limit) appendMatch(b []byte, save bool) []byte {
	rate := m.Rate
	if save {
		rate = m.saveRate()
	}
	b = append(append(b, " -m limit --limit "...), rate...)
	if m.Burst != 0 && m.Burst != 5 {
		b = strconv.AppendInt(append(b, " --limit-burst "...), int64(m.Burst), 10)
	}
	return b
}

// saveRate is the rate in the unit that libxt_limit chooses (print_rate).
func (m Limit) saveRate() string {
	const scale = 10_000 // XT_LIMIT_SCALE: the kernel holds the time per packet
	units := []struct {
		name   string
		length uint64
	}{{"day", 24 * 60 * 60 * scale}, {"hour", 60 * 60 * scale}, {"min", 60 * scale}, {"sec", scale}}
	number, unit, _ := strings.Cut(m.Rate, "/")
	rate, err := strconv.ParseUint(number, 10, 32)
	if err != nil || rate == 0 {
		return m.Rate
	}
	period := uint64(scale) / rate
	for _, u := range units {
		if unit != "" && u.name[0] == unit[0] {
			period = u.length / rate
		}
	}
	if period == 0 {
		return m.Rate
	}
	i := 1
	for i < len(units) && period <= units[i].length && units[i].length/period >= units[i].length%period {
		i++
	}
	u := units[i-1]
	return strconv.FormatUint(u.length/period, 10) + "/" + u.name
}

func (m ICMPType) appendMatch(b []byte, _ bool) []byte {
	if m.IPv6 {
		b = append(b, " -m icmp6 --icmpv6-type "...)
	} else {
		b = append(b, " -m icmp --icmp-type "...)
	}
	b = strconv.AppendUint(b, uint64(m.Type), 10)
	if !m.AnyCode {
		b = strconv.AppendUint(append(b, '/'), uint64(m.Code), 10)
	}
	return b
}

func (m Comment) appendMatch(b []byte, save bool) []byte {
	return appendText(append(b, " -m comment --comment "...), m.Text, save)
}

// appendText appends a text, in quotes where the tool needs them, or would save them.
func appendText(b []byte, s string, save bool) []byte {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == '"' || c == '\'' || c == '\\' || save && !isWordByte(c) {
			return appendQuoted(b, s)
		}
	}
	if s == "" {
		return appendQuoted(b, s)
	}
	return append(b, s...)
}

// isWordByte reports whether iptables-save prints c without quoting the string
// that holds it.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if c := s[i]; c == '"' || c == '\\' || c == '\'' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

func appendHex(b []byte, v uint32) []byte {
	return strconv.AppendUint(append(b, "0x"...), uint64(v), 16)
}

func (t Jump) appendTarget(b []byte, _ bool) []byte {
	return append(append(b, " -j "...), t.Chain...)
}

func (t Goto) appendTarget(b []byte, _ bool) []byte {
	return append(append(b, " -g "...), t.Chain...)
}

func (Return) appendTarget(b []byte, _ bool) []byte { return append(b, " -j RETURN"...) }
func (Accept) appendTarget(b []byte, _ bool) []byte { return append(b, " -j ACCEPT"...) }
func (Drop) appendTarget(b []byte, _ bool) []byte   { return append(b, " -j DROP"...) }

func (t Reject) appendTarget(b []byte, save bool) []byte {
	b = append(b, " -j REJECT"...)
	switch {
	case t.With == "" && save:
		b = append(b, " --reject-with icmp-port-unreachable"...)
	case t.With != "":
		b = append(append(b, " --reject-with "...), t.With...)
	}
	return b
}

func (t DNAT) appendTarget(b []byte, _ bool) []byte {
	return t.To.AppendTo(append(b, " -j DNAT --to-destination "...))
}

func (t Redirect) appendTarget(b []byte, _ bool) []byte {
	return strconv.AppendUint(append(b, " -j REDIRECT --to-ports "...), uint64(t.Port), 10)
}

func (t Masquerade) appendTarget(b []byte, _ bool) []byte {
	b = append(b, " -j MASQUERADE"...)
	if t.RandomFully {
		b = append(b, " --random-fully"...)
	}
	return b
}

func (t NoTrack) appendTarget(b []byte, _ bool) []byte { return append(b, " -j CT --notrack"...) }

func (t OrMark) appendTarget(b []byte, save bool) []byte {
	if !save {
		return appendHex(append(b, " -j MARK --or-mark "...), t.Bits)
	}
	b = appendHex(append(b, " -j MARK --set-xmark "...), t.Bits)
	return appendHex(append(b, '/'), t.Bits)
}

func (t XorMark) appendTarget(b []byte, save bool) []byte {
	if !save {
		return appendHex(append(b, " -j MARK --xor-mark "...), t.Bits)
	}
	b = appendHex(append(b, " -j MARK --set-xmark "...), t.Bits)
	return append(b, "/0x0"...)
}

// appendTarget: the tool clears the bits of the value along with those of the mask.
func (t SetMark) appendTarget(b []byte, save bool) []byte {
	flag, mask := " -j MARK --set-mark ", t.Mask
	if save {
		flag, mask = " -j MARK --set-xmark ", t.Mask|t.Value
	}
	return appendHex(append(appendHex(append(b, flag...), t.Value), '/'), mask)
}

func (t NFLog) appendTarget(b []byte, save bool) []byte {
	b = append(b, " -j NFLOG"...)
	if t.Prefix != "" {
		b = appendText(append(b, " --nflog-prefix "...), t.Prefix, true)
	}
	if save && t.Group == 0 {
		return b
	}
	return strconv.AppendUint(append(b, " --nflog-group "...), uint64(t.Group), 10)
}
