package felix

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan/iptables"
)

// words are a rule's comments, matches and action in Felix's words, each after a space
// (felix/iptables/match_builder.go and actions.go). What Felix has no words for is in those of
// iptables-restore.
func words(r *iptables.Rule) string {
	var comments, matches strings.Builder
	for _, m := range r.Matches {
		if c, ok := m.(iptables.Comment); ok {
			fmt.Fprintf(&comments, " -m comment --comment %q", unsafe.ReplaceAllString(c.Text, "_"))
			continue
		}
		matches.WriteString(" " + match(m))
	}
	return comments.String() + matches.String() + action(r.Target)
}

// unsafe are the characters of comments that Felix replaces.
var unsafe = regexp.MustCompile(`[^\w @%+=:,./-]`)

func match(m iptables.Match) string {
	switch m := m.(type) {
	case iptables.Mark:
		value := "0"
		if m.Value != 0 {
			value = fmt.Sprintf("%#x", m.Value)
		}
		return fmt.Sprintf("-m mark %s--mark %s/%#x", not(m.Not), value, m.Mask)
	case iptables.CTState:
		return "-m conntrack " + not(m.Not) + "--ctstate " + strings.Join(m.States, ",")
	case iptables.MatchSet:
		return "-m set " + not(m.Not) + "--match-set " + m.Set + " " + m.Parts
	case iptables.Src:
		return not(m.Not) + "--source " + m.Prefix.String()
	case iptables.Dst:
		return not(m.Not) + "--destination " + m.Prefix.String()
	case iptables.InIf:
		return not(m.Not) + "--in-interface " + m.Name
	case iptables.OutIf:
		return not(m.Not) + "--out-interface " + m.Name
	case iptables.Proto:
		if m.Name == iptables.IPIP {
			return "-p 4"
		}
		return "-p " + m.Name
	case iptables.DPort:
		return "-m multiport --destination-ports " + strconv.Itoa(int(m.Port))
	case iptables.DPorts:
		return fmt.Sprintf("-m multiport --destination-ports %d:%d", m.First, m.Last)
	case iptables.MultiPort:
		return "-m multiport --destination-ports " + m.Ports
	case iptables.ICMPType:
		if m.IPv6 && m.AnyCode {
			return fmt.Sprintf("-m icmp6 --icmpv6-type %d", m.Type)
		}
	}
	return inRestore(&iptables.Rule{Matches: []iptables.Match{m}})
}

func not(not bool) string {
	if not {
		return "! "
	}
	return ""
}

func action(t iptables.Target) string {
	switch t := t.(type) {
	case nil:
		return ""
	case iptables.Jump:
		return " --jump " + t.Chain
	case iptables.Goto:
		return " --goto " + t.Chain
	case iptables.SetMark:
		// Where it clears one bit it writes 0, and 0x0 where it sets several of which none is 1.
		if t.Value == 0 && bits.OnesCount32(t.Mask) == 1 {
			return fmt.Sprintf(" --jump MARK --set-mark 0/%#x", t.Mask)
		}
		return fmt.Sprintf(" --jump MARK --set-mark %#x/%#x", t.Value, t.Mask)
	}
	return " " + strings.Replace(inRestore(&iptables.Rule{Target: t}), "-j ", "--jump ", 1)
}

// inRestore is a part of a rule in the words of iptables-restore.
func inRestore(part *iptables.Rule) string { return strings.TrimPrefix(part.Restore("C"), "-A C ") }
