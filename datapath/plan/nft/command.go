package nft

import "github.com/netlab/netlab/datapath/plan/origin"

// Command is one command of a transaction. Its object is the field that is set, or the
// table itself if none is.
type Command struct {
	Verb     string // add, flush, delete
	Family   string
	Table    string
	Chain    *Chain // alone, or that of Rule
	Rule     *Rule
	Set      *Set
	Elements []Element // of Set
	Comment  string    // of the table
	// Unseen means that no packet meets it before other commands are carried out: it makes a
	// part of a new table that is no base chain.
	Unseen bool
}

// Commands returns the commands of the edit in the order in which they are sent. What
// others reference is created before them and deleted after them: chains, sets,
// elements, rules. Rules of base chains come last, in case one transaction cannot hold
// them all, and so do the base chains of a new table, with their policies.
func (e *Edit) Commands() []Command {
	l := commands{edit: e}
	if e.Remove {
		l.add("delete", Command{})
	}
	if e.Remove && !e.Create {
		return l.list
	}
	if e.Create {
		l.add("add", Command{Comment: e.Comment})
	}
	for _, name := range e.Renew {
		l.chain("flush", &Chain{Name: name})
		l.chain("delete", &Chain{Name: name})
	}
	for i := range e.Chains {
		if c := &e.Chains[i]; !e.Create {
			l.chain("add", c)
			l.chain("flush", c)
		} else if !c.IsBase() {
			l.chain("add", c)
		}
	}
	for _, name := range e.DeleteChains {
		l.chain("flush", &Chain{Name: name})
	}
	l.sets()
	for _, base := range []bool{false, true} {
		for i := range e.Chains {
			if c := &e.Chains[i]; c.IsBase() == base {
				if base && e.Create {
					l.chain("add", c)
				}
				for j := range c.Rules {
					l.add("add", Command{Chain: c, Rule: &c.Rules[j]})
				}
			}
		}
	}
	for _, name := range e.DeleteChains {
		l.chain("delete", &Chain{Name: name})
	}
	return l.list
}

type commands struct {
	edit *Edit
	list []Command
}

func (l *commands) add(verb string, c Command) {
	c.Verb, c.Family, c.Table = verb, l.edit.Family, l.edit.Name
	c.Unseen = l.edit.Create && (c.Chain == nil || !c.Chain.IsBase())
	l.list = append(l.list, c)
}

func (l *commands) chain(verb string, c *Chain) { l.add(verb, Command{Chain: c}) }

func (l *commands) elements(verb string, s *Set, list []Element) {
	if len(list) > 0 {
		l.add(verb, Command{Set: s, Elements: list})
	}
}

func (l *commands) sets() {
	e := l.edit
	for i := range e.Elements {
		l.elements("delete", &e.Elements[i].Set, e.Elements[i].Delete)
	}
	for i := range e.DeleteSets {
		l.add("delete", Command{Set: &e.DeleteSets[i]})
	}
	for i := range e.Sets {
		l.add("add", Command{Set: &e.Sets[i]})
		l.elements("add", &e.Sets[i], e.Sets[i].Elements)
	}
	for i := range e.Elements {
		l.elements("add", &e.Elements[i].Set, e.Elements[i].Add)
	}
}

// String is the command as nft takes it.
func (c Command) String() string { return "nft " + string(c.append(nil)) }

func (c *Command) append(b []byte) []byte {
	words := func(kind, name string) {
		b = append(append(append(append(b, c.Verb...), ' '), kind...), ' ')
		b = append(append(append(b, c.Family...), ' '), c.Table...)
		if name != "" {
			b = append(append(b, ' '), name...)
		}
	}
	switch {
	case c.Elements != nil:
		words("element", c.Set.Name)
		b = c.Set.appendElements(append(b, ' '), c.Elements, c.Verb == "add", ", ")
	case c.Set != nil:
		words(c.Set.Word(), c.Set.Name)
		if c.Verb == "add" {
			b = append(c.Set.appendSpec(append(b, " { "...), "; "), "; }"...)
		}
	case c.Rule != nil:
		words("rule", c.Chain.Name)
		b = c.Rule.appendWords(append(b, ' '))
	case c.Chain != nil:
		words("chain", c.Chain.Name)
		if c.Verb == "add" && (c.Chain.IsBase() || c.Chain.Comment != "") {
			b = append(b, " {"...)
			if c.Chain.Comment != "" {
				b = append(appendComment(b, c.Chain.Comment), ';')
			}
			if c.Chain.IsBase() {
				b = c.Chain.appendSpec(append(b, ' '))
			}
			b = append(b, " }"...)
		}
	default:
		words("table", "")
		if c.Comment != "" {
			b = append(appendComment(append(b, " {"...), c.Comment), "; }"...)
		}
	}
	return b
}

// origin is the object that an added element serves.
func (c *Command) origin() origin.Ref {
	switch {
	case c.Rule != nil:
		return c.Rule.Origin
	case c.Set != nil && c.Verb == "add":
		return c.Set.Origin
	}
	return origin.Ref{}
}
