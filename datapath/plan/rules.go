package plan

import (
	"slices"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/ipvs"
	"github.com/netlab/netlab/datapath/plan/nft"
)

// VirtualServers is the table of what IPVS has, beside those of the kernel's filters.
const VirtualServers = "ipvs"

// Listed is a rule, an element of a set or a virtual server as the tool that lists it prints it,
// or, without a rule, the chain or set itself.
type Listed struct {
	Table  string // VirtualServers for those of IPVS
	Family string // of nf_tables: ip, ip6 or inet
	IPv6   bool   // of iptables
	Chain  string
	Set    string // of nf_tables; then Rule is an element
	Spec   string // of a base chain or a set of nf_tables
	Rule   string // without the name of its chain
	Policy string
	Origin Origin
}

// EachRule calls f with the rules of the namespace in order, each after the chain or set that it
// is in. Ipsets are not among them.
func (n *Netns) EachRule(f func(Listed)) {
	for i := range n.Tables {
		t := &n.Tables[i]
		for j := range t.Chains {
			c := &t.Chains[j]
			line := Listed{Table: t.Name, IPv6: t.IPv6, Chain: c.Name}
			head := line
			head.Policy = c.Policy
			f(head)
			for k := range c.Rules {
				line.Rule, line.Origin = c.Rules[k].Save(), c.Rules[k].Origin
				f(line)
			}
		}
	}
	for _, v := range n.Virtual {
		for _, c := range ipvs.Create(nil, []ipvs.Server{v}) {
			f(Listed{Table: VirtualServers, Rule: string(c.Append(nil)), Origin: v.Origin})
		}
	}
	for i := range n.NFT {
		eachNFTRule(&n.NFT[i], f)
	}
}

func eachNFTRule(t *nft.Table, f func(Listed)) {
	of := Listed{Table: t.Name, Family: t.Family}
	for i := range t.Sets {
		s, line := &t.Sets[i], of
		line.Set, line.Origin = s.Name, s.Origin
		head := line
		head.Spec = s.Word() + " " + s.Spec()
		f(head)
		for j := range s.Elements {
			line.Rule = s.Words(&s.Elements[j])
			f(line)
		}
	}
	for i := range t.Chains {
		c, line := &t.Chains[i], of
		line.Chain = c.Name
		head := line
		if c.IsBase() {
			head.Spec, head.Policy = c.Spec(), c.Policy
		}
		f(head)
		for j := range c.Rules {
			line.Rule, line.Origin = c.Rules[j].Words(), c.Rules[j].Origin
			f(line)
		}
	}
}

// Saved is a rule with the tool that lists it.
type Saved struct {
	Tool  string // iptables, ip6tables, ipset, ipvsadm or nft
	Table string // of nft with its family
	Chain string
	Set   string
	Text  string // as that prints it; empty: the chain or set itself
}

// Saved are all rules of the namespace as iptables-save, ipset save, ipvsadm -Sn and nft list
// ruleset print them, a line each.
func (n *Netns) Saved() (all []Saved) {
	n.EachRule(func(l Listed) { all = append(all, l.Saved()) })
	for i := range n.Sets {
		s := &n.Sets[i]
		all = append(all, Saved{Tool: "ipset", Set: s.Name})
		for _, m := range s.Members() {
			all = append(all, Saved{"ipset", "", "", s.Name, "add " + s.Name + " " + m})
		}
	}
	return all
}

// Saved is the rule as the tool that lists it prints it.
func (l *Listed) Saved() Saved {
	s := Saved{Table: l.Table, Chain: l.Chain, Set: l.Set, Text: l.Rule}
	switch {
	case l.Family != "":
		s.Tool, s.Table = "nft", l.Family+" "+l.Table
	case l.Table == VirtualServers:
		s.Tool, s.Table = "ipvsadm", ""
	default:
		if s.Tool = "iptables"; l.IPv6 {
			s.Tool = "ip6tables"
		}
		if l.Rule != "" {
			s.Text = "-A " + l.Chain + " " + l.Rule
		}
	}
	return s
}

// Counted is how many packets and bytes a rule has counted since it was created, or a virtual
// server or one of its real servers received.
type Counted struct {
	Netns   string
	Family  string // of nf_tables: ip, ip6 or inet
	IPv6    bool   // of iptables
	Table   string
	Chain   string
	Rule    string // as text: of IPVS in the words of ipvsadm
	Packets uint64
	Bytes   uint64
}

// Saved is the rule that counted, as the tool that lists it prints it.
func (c *Counted) Saved() Saved {
	l := Listed{Table: c.Table, Family: c.Family, IPv6: c.IPv6, Chain: c.Chain, Rule: c.Rule}
	return l.Saved()
}

// Counts reports whether rules of the plan count in accounting objects (iptables.NFAcct).
func (p *Plan) Counts() bool {
	return slices.ContainsFunc(p.Netns, func(n Netns) bool { return iptables.Counts(n.Tables) })
}

// Uncount makes the plan what it is on a kernel without such objects. Lists that it may share
// with another plan stay as they are.
func (p *Plan) Uncount() {
	p.Netns = slices.Clone(p.Netns)
	for i := range p.Netns {
		if n := &p.Netns[i]; iptables.Counts(n.Tables) {
			n.Tables = iptables.Uncounted(n.Tables)
		}
	}
}
