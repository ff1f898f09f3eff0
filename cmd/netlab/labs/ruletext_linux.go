package labs

import (
	"strings"

	"github.com/netlab/netlab/datapath/plan"
)

// printRules prints rules as the programs do that list them, with a comment after each.
func (u ui) printRules(lines []ruleLine) {
	var last ruleLine
	for i, l := range lines {
		if l.Netns != last.Netns {
			u.Print("# %s\n", l.Netns)
		}
		switch {
		case l.Family != "":
			u.printNFT(lines, i)
		case l.Table == plan.VirtualServers:
			u.printHead(l, last, "# ipvsadm -Sn")
			u.Print("%s%s\n", l.Rule, l.note())
		default:
			u.printTables(l, last)
		}
		last = l
	}
}

func (u ui) printHead(l, last ruleLine, head string) {
	if l.Netns != last.Netns || l.Table != last.Table || l.Family != last.Family || l.IPv6 != last.IPv6 {
		u.Print("%s\n", head)
	}
}

// printTables prints a line as iptables-save.
func (u ui) printTables(l, last ruleLine) {
	name := "*" + l.Table
	if l.IPv6 {
		name += " (IPv6)"
	}
	u.printHead(l, last, name)
	if l.Rule != "" {
		u.Print("-A %s %s%s\n", l.Chain, l.Rule, l.note())
		return
	}
	policy := l.Policy
	if policy == "" {
		policy = "-"
	}
	u.Print(":%s %s\n", l.Chain, policy)
}

// printNFT prints a line as nft list ruleset, which reads it, too: comments are its own.
func (u ui) printNFT(lines []ruleLine, i int) {
	l := lines[i]
	var last, next ruleLine
	if i > 0 {
		last = lines[i-1]
	}
	if i+1 < len(lines) {
		next = lines[i+1]
	}
	u.printHead(l, last, "table "+l.Family+" "+l.Table+" {")
	ends := next.Rule == "" || !sameBlock(l, next)
	switch {
	case l.Rule == "" && l.Set != "":
		word, spec, _ := strings.Cut(l.Spec, " ")
		u.Print("\t%s %s {%s\n\t\t%s\n", word, l.Set, l.note(), strings.ReplaceAll(spec, "; ", "\n\t\t"))
	case l.Rule == "":
		u.Print("\tchain %s {\n", l.Chain)
		if l.Spec != "" {
			u.Print("\t\t%s\n", l.Spec)
		}
	case l.Set != "":
		before, after := "\t\t             ", ","
		if last.Rule == "" {
			before = "\t\telements = { "
		}
		if ends {
			after = " }"
		}
		note := ""
		if l.Extra {
			note = l.note()
		}
		u.Print("%s%s%s%s\n", before, l.Rule, after, note)
	default:
		u.Print("\t\t%s%s\n", l.Rule, l.note())
	}
	if ends {
		u.Print("\t}\n")
		if next.Netns != l.Netns || next.Table != l.Table || next.Family != l.Family {
			u.Print("}\n")
		}
	}
}

// sameBlock reports whether two lines are in the same chain or set.
func sameBlock(a, b ruleLine) bool {
	return a.Netns == b.Netns && a.Family == b.Family && a.Table == b.Table && a.Chain == b.Chain && a.Set == b.Set
}
