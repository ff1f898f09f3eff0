package plan

import "strconv"

// appendBlock appends the table as nft list table writes it, which nft -f reads, with
// the objects that rules serve as comments.
func (t *NFTTable) appendBlock(b []byte, annotate bool) []byte {
	b = append(append(append(append(append(b, "table "...), t.Family...), ' '), t.Name...), " {\n"...)
	for i := range t.Sets {
		s := &t.Sets[i]
		if annotate && s.Origin != (Origin{}) {
			b = s.Origin.appendComment(append(b, '\t'))
		}
		b = append(append(append(append(append(b, '\t'), s.word()...), ' '), s.Name...), " {\n\t\t"...)
		b = append(s.appendSpec(b, "\n\t\t"), '\n')
		if len(s.Elements) > 0 {
			b = append(s.appendElements(append(b, "\t\telements = "...), s.Elements, true, ",\n\t\t\t     "), '\n')
		}
		b = append(b, "\t}\n"...)
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		b = append(append(append(b, "\tchain "...), c.Name...), " {\n"...)
		if c.IsBase() {
			b = append(c.appendSpec(append(b, "\t\t"...)), '\n')
		}
		var last Origin
		for j := range c.Rules {
			if r := &c.Rules[j]; annotate && r.Origin != last {
				if last = r.Origin; last != (Origin{}) {
					b = last.appendComment(append(b, "\t\t"...))
				}
			}
			b = append(c.Rules[j].appendWords(append(b, "\t\t"...)), '\n')
		}
		b = append(b, "\t}\n"...)
	}
	return append(b, "}\n"...)
}

// word is what nft calls the set.
func (s *NFTSet) word() string {
	if s.IsMap() {
		return "map"
	}
	return "set"
}

// Spec is the set without its name and elements, as nft writes it: type ipv4_addr :
// verdict.
func (s *NFTSet) Spec() string { return string(s.appendSpec(nil, "; ")) }

func (s *NFTSet) appendSpec(b []byte, separator string) []byte {
	b = appendNFTTypes(append(b, "type "...), s.Key)
	if s.IsMap() {
		b = appendNFTTypes(append(b, " : "...), s.Data)
	}
	if s.Interval {
		b = append(append(b, separator...), "flags interval"...)
	}
	return b
}

func appendNFTTypes(b []byte, types []NFTType) []byte {
	for i, t := range types {
		if i > 0 {
			b = append(b, " . "...)
		}
		b = append(b, t...)
	}
	return b
}

// appendElements appends elements in braces, with their data or without.
func (s *NFTSet) appendElements(b []byte, list []NFTElement, data bool, separator string) []byte {
	b = append(b, "{ "...)
	for i := range list {
		if i > 0 {
			b = append(b, separator...)
		}
		b = s.appendElement(b, &list[i], data)
	}
	return append(b, " }"...)
}

func (s *NFTSet) appendElement(b []byte, e *NFTElement, data bool) []byte {
	b = appendNFTValues(b, s.Key, e.Key)
	switch {
	case !data || !s.IsMap():
		return b
	case s.HasVerdicts():
		return e.Verdict.append(append(b, " : "...))
	}
	return appendNFTValues(append(b, " : "...), s.Data, e.Data)
}

func appendNFTValues(b []byte, types []NFTType, values []NFTValue) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, " . "...)
		}
		if i < len(types) {
			b = appendNFTValue(b, types[i], v)
		}
	}
	return b
}

// Words is an element as nft writes it.
func (s *NFTSet) Words(e *NFTElement) string { return string(s.appendElement(nil, e, true)) }

// Spec is what nft writes first in a base chain: type filter hook forward priority 0;
// policy accept;.
func (c *NFTChain) Spec() string { return string(c.appendSpec(nil)) }

func (c *NFTChain) appendSpec(b []byte) []byte {
	b = append(append(append(b, "type "...), c.Type...), " hook "...)
	b = strconv.AppendInt(append(append(b, c.Hook...), " priority "...), int64(c.Priority), 10)
	return append(append(append(b, "; policy "...), c.Policy...), ';')
}

// nft writes tables that are made as one input of nft -f, which is one transaction.
func (w *textWriter) nft(list []NFTTable) {
	w.input("nft -f -", func() {
		for i := range list {
			w.from(list[i].Origin)
			w.b = list[i].appendBlock(w.b, true)
		}
	})
}

// editNFT writes what changes in tables, as one transaction.
func (w *textWriter) editNFT(list []NFTEdit) {
	w.input("nft -f -", func() {
		for i := range list {
			w.b = list[i].appendCommands(w.b, true)
		}
	})
}

// Commands is the edit as input of nft -f.
func (e *NFTEdit) Commands() string { return string(e.appendCommands(nil, false)) }

func (e *NFTEdit) appendCommands(b []byte, annotate bool) []byte {
	if e.Create && !e.Remove {
		t := NFTTable{Family: e.Family, Name: e.Name, Sets: e.Sets, Chains: e.Chains}
		return t.appendBlock(b, annotate)
	}
	table := e.Family + " " + e.Name
	command := func(verb, kind, name, rest string) {
		b = append(append(append(append(append(b, verb...), ' '), kind...), ' '), table...)
		if name != "" {
			b = append(append(b, ' '), name...)
		}
		b = append(append(b, rest...), '\n')
	}
	if e.Remove {
		command("delete", "table", "", "")
		return b
	}
	for _, name := range e.Renew {
		command("flush", "chain", name, "")
		command("delete", "chain", name, "")
	}
	for i := range e.Chains {
		c := &e.Chains[i]
		spec := ""
		if c.IsBase() {
			spec = " { " + c.Spec() + " }"
		}
		command("add", "chain", c.Name, spec)
		command("flush", "chain", c.Name, "")
	}
	for _, name := range e.DeleteChains {
		command("flush", "chain", name, "")
	}
	for i := range e.Elements {
		x := &e.Elements[i]
		if len(x.Delete) > 0 {
			command("delete", "element", x.Set.Name, " "+string(x.Set.appendElements(nil, x.Delete, false, ", ")))
		}
	}
	for i := range e.DeleteSets {
		command("delete", e.DeleteSets[i].word(), e.DeleteSets[i].Name, "")
	}
	for i := range e.Sets {
		s := &e.Sets[i]
		if annotate {
			b = s.Origin.appendComment(b)
		}
		command("add", s.word(), s.Name, " { "+s.Spec()+"; }")
		if len(s.Elements) > 0 {
			command("add", "element", s.Name, " "+string(s.appendElements(nil, s.Elements, true, ", ")))
		}
	}
	for i := range e.Elements {
		x := &e.Elements[i]
		if len(x.Add) > 0 {
			if annotate {
				b = x.Set.Origin.appendComment(b)
			}
			command("add", "element", x.Set.Name, " "+string(x.Set.appendElements(nil, x.Add, true, ", ")))
		}
	}
	for i := range e.Chains {
		c := &e.Chains[i]
		for j := range c.Rules {
			if annotate && (j == 0 || c.Rules[j].Origin != c.Rules[j-1].Origin) {
				b = c.Rules[j].Origin.appendComment(b)
			}
			command("add", "rule", c.Name, " "+c.Rules[j].Words())
		}
	}
	for _, name := range e.DeleteChains {
		command("delete", "chain", name, "")
	}
	return b
}
