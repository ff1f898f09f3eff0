package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Tools are the programs whose words rules are claimed in.
func Tools() []string { return []string{"iptables", "ip6tables", "ipset", "ipvsadm", "nft"} }

// Rules is a claim about the rules of a host, in the words of the tool that lists them
// (iptables-save, ipset save, ipvsadm -Sn, nft list ruleset).
type Rules struct {
	Host
	Tool, Table, Chain, Set string // which rules; "": all
	// Has are parts of rules, in whole words, each of which is in some rule; Lacks are mentioned in
	// none.
	Has, Lacks []string
	Equals     []string // all the rules, in their order; nil: not claimed
	Count      *int     // of rules that have Has, or of all
	Absent     bool     // there is no such chain, set or table
	// Counted is how many packets those rules that have Has, or all, count per connection.
	Counted *Number
}

// Number is an exact number of packets, or some.
type Number struct {
	Some  bool
	Exact int
}

func (n Number) String() string {
	if n.Some {
		return "some"
	}
	return fmt.Sprint(n.Exact)
}

// Subject names the chain or set.
func (r *Rules) Subject() string {
	words := []string{"rules"}
	for _, w := range []string{r.Tool, r.Table, r.Chain, r.Set} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}

// Wanted describes what the rules must be.
func (r *Rules) Wanted() string {
	var parts []string
	if r.Absent {
		return "absent"
	}
	of := ""
	if r.Count != nil {
		parts = append(parts, fmt.Sprintf("%d rules", *r.Count))
	}
	for _, h := range r.Has {
		if r.Count != nil || r.Counted != nil {
			of = fmt.Sprintf(" with %q", h)
			continue
		}
		parts = append(parts, fmt.Sprintf("has %q", h))
	}
	for _, l := range r.Lacks {
		parts = append(parts, fmt.Sprintf("lacks %q", l))
	}
	if r.Equals != nil {
		parts = append(parts, fmt.Sprintf("equal to %d lines", len(r.Equals)))
	}
	if r.Counted != nil {
		parts = append(parts, "counting "+r.Counted.String()+" packets of each connection")
	}
	return strings.Join(parts, ", ") + of
}

// PerConnection: only what rules count.
func (r *Rules) PerConnection() bool { return r.Counted != nil }

// Judge holds the rules against the claim.
func (r *Rules) Judge(views []View) Verdict { return each(views, r.judge) }

func (r *Rules) judge(v *View) Verdict {
	var rules []string
	there := false
	for _, l := range v.Lines {
		if !r.about(l) {
			continue
		}
		there = true
		if l.Text != "" {
			rules = append(rules, spaced(l.Text))
		}
	}
	if r.Absent {
		if there {
			return Verdict{Shown: "there are such rules", Wrong: []string{"it is there, with " + counted(len(rules), "rule")}}
		}
		return Verdict{Shown: "absent"}
	}
	if !there {
		return Verdict{Shown: "absent", Wrong: []string{r.missing(v.Lines)}}
	}
	out := Verdict{Shown: counted(len(rules), "rule")}
	matching := func(part string, in func(rule, part string) bool) (n int) {
		for _, rule := range rules {
			if in(rule, part) {
				n++
			}
		}
		return n
	}
	n := len(rules)
	for _, h := range r.Has {
		in := contains
		if r.Count != nil && *r.Count == 0 {
			in = mentions
		}
		if n = matching(h, in); n == 0 && (r.Count == nil || *r.Count > 0) {
			out.Wrong = append(out.Wrong, fmt.Sprintf("no rule has %q", h)+nearest(h, rules))
		}
	}
	if r.Count != nil && n != *r.Count {
		out.Wrong = append(out.Wrong, fmt.Sprintf("%s, not %d", counted(n, "such rule"), *r.Count))
	}
	for _, l := range r.Lacks {
		for _, rule := range rules {
			if mentions(rule, l) {
				out.Wrong = append(out.Wrong, fmt.Sprintf("there is %q", rule))
				break
			}
		}
	}
	if r.Equals != nil {
		want := make([]string, len(r.Equals))
		for i, line := range r.Equals {
			want[i] = spaced(line)
		}
		out.Wrong = append(out.Wrong, differ(rules, want)...)
	}
	if r.Counted != nil && out.Wrong == nil {
		r.judgeCounted(v, &out)
	}
	return out
}

const doNotCount = "these rules do not count packets: those of iptables do, and those of nft that say counter"

// counts reports whether a line is a rule of the claim that counts packets.
func (r *Rules) counts(l Line) bool {
	return r.about(l) && l.Chain != "" && l.Text != "" && (l.Tool != "nft" || contains(l.Text, "counter")) &&
		!slices.ContainsFunc(r.Has, func(h string) bool { return !contains(spaced(l.Text), h) })
}

// judgeCounted judges what the rules counted of a connection.
func (r *Rules) judgeCounted(v *View, out *Verdict) {
	if !slices.ContainsFunc(v.Lines, r.counts) {
		out.Wrong = append(out.Wrong, doNotCount)
		return
	}
	n, exact := 0, true
	for _, c := range v.Counts {
		l := Line{Tool: c.Tool, Table: c.Table, Chain: c.Chain, Text: c.Rule}
		if c.Netns == r.Netns && r.counts(l) {
			n += int(c.Packets)
			exact = exact && !c.AtLeast
		}
	}
	out.Shown = counted(n, "packet") + " counted"
	if !exact {
		out.Shown = "at least " + out.Shown
	}
	switch want := r.Counted; {
	case want.Some && n == 0 && exact:
		out.Wrong = append(out.Wrong, "no packet is counted")
	case want.Some && n > 0 || exact && n == want.Exact:
	case exact || !want.Some && n > want.Exact:
		out.Wrong = append(out.Wrong, fmt.Sprintf("%s counted, not %d", counted(n, "packet"), want.Exact))
	default:
		out.Unknown = "how many packets a connection or a tunnel has in all is not on paper"
	}
}

// about reports whether a line is one of those that the claim is about.
func (r *Rules) about(l Line) bool {
	_, name, family := strings.Cut(l.Table, " ")
	return (r.Tool == "" || r.Tool == l.Tool) && (r.Table == "" || r.Table == l.Table || family && r.Table == name) &&
		(r.Chain == "" || r.Chain == l.Chain) && (r.Set == "" || r.Set == l.Set)
}

// Unknown says what of the claim there is not among the lines of a host, which are those of a plan;
// "": it is there, or is to be absent and the tool is used.
func (r *Rules) Unknown(lines []Line) string {
	about := *r
	if r.Absent {
		about = Rules{Host: r.Host, Tool: r.Tool}
	}
	there := slices.ContainsFunc(lines, about.about)
	if all := (Rules{Tool: r.Tool, Table: r.Table, Chain: r.Chain, Set: r.Set}); there && r.Counted != nil && !slices.ContainsFunc(lines, all.counts) {
		return "In " + r.Name + " " + doNotCount + "."
	}
	if there || r.Absent && (r.Tool == "" || r.Table+r.Chain+r.Set == "") {
		return ""
	}
	return about.missing(lines)
}

// missing says what there is not, and what could be meant.
func (r *Rules) missing(lines []Line) string {
	known := func(of func(Line) string) (list []string) {
		for _, l := range lines {
			if w := of(l); w != "" && !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
		return list
	}
	for _, x := range []struct {
		kind, name string
		of         func(Line) string
	}{
		{"rules of", r.Tool, func(l Line) string { return l.Tool }}, {"table", r.Table, func(l Line) string { return l.Table }},
		{"chain", r.Chain, func(l Line) string { return l.Chain }}, {"set", r.Set, func(l Line) string { return l.Set }},
	} {
		if x.name == "" {
			continue
		}
		one := Rules{}
		switch x.kind {
		case "table":
			one.Table = x.name
		case "chain":
			one.Chain = x.name
		case "set":
			one.Set = x.name
		default:
			one.Tool = x.name
		}
		if !slices.ContainsFunc(lines, one.about) {
			return fmt.Sprintf("%s has no %s %s.%s", r.Name, x.kind, x.name, topology.DidYouMean(x.name, known(x.of)))
		}
	}
	return r.Name + " has no such rules together."
}

// counted is a number of things.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// spaced is a rule with one space between words: iptables-save prints two in some places.
func spaced(rule string) string { return strings.Join(strings.Fields(rule), " ") }

// contains reports whether a rule has a part, in whole words.
func contains(rule, part string) bool {
	return has(rule, part, func(before, after string) bool {
		return (before == "" || before[len(before)-1] == ' ') && (after == "" || after[0] == ' ')
	})
}

// mentions reports whether a rule has a part, in whole words or in such as are written with more
// around: an address with its prefix length or port, a word of a comment or of a list, a comment in
// quotes. Who claims that no rule has it does not mean that one has it so.
func mentions(rule, part string) bool {
	return has(unquoted(rule), unquoted(part), func(before, after string) bool {
		length, _, _ := strings.Cut(after, " ")
		switch {
		case before != "" && ofName(before[len(before)-1]), after != "" && ofName(after[0]):
			return false // a longer name or number
		case strings.HasPrefix(length, "/"):
			return length == "/32" || length == "/128"
		}
		return true
	})
}

func unquoted(rule string) string { return strings.ReplaceAll(rule, `"`, "") }

// ofName reports whether a byte goes on with the name, number or IPv4 address beside it.
func ofName(c byte) bool {
	return c == '-' || c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// has reports whether a rule has a part with such text before and after it.
func has(rule, part string, fits func(before, after string) bool) bool {
	for from := 0; part != ""; {
		i := strings.Index(rule[from:], part)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(part)
		if fits(rule[:start], rule[end:]) {
			return true
		}
		from = start + 1
	}
	return false
}

// nearest names the rule that has most words of a part; "" where none has half of them.
func nearest(part string, rules []string) string {
	words := strings.Fields(part)
	best, most := "", len(words)/2
	for _, rule := range rules {
		n := 0
		for _, w := range words {
			if contains(rule, w) {
				n++
			}
		}
		if n > most {
			best, most = rule, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; the nearest is %q", best)
}

// differ describes the first difference of two lists of rules.
func differ(have, want []string) []string {
	for i := range max(len(have), len(want)) {
		switch {
		case i >= len(have):
			return []string{fmt.Sprintf("line %d is missing: %q", i+1, want[i])}
		case i >= len(want):
			return []string{fmt.Sprintf("line %d is more than there should be: %q", i+1, have[i])}
		case have[i] != want[i]:
			return []string{fmt.Sprintf("line %d is %q, not %q", i+1, have[i], want[i])}
		}
	}
	return nil
}
