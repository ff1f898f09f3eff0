package nft

import (
	"encoding/json"
	"strconv"

	"github.com/netlab/netlab/datapath/plan/origin"
)

// appendBlock appends the table as nft list table prints it and nft -f reads it, with
// the objects that rules serve as comments.
func (t *Table) appendBlock(b []byte, annotate bool) []byte {
	b = append(append(append(append(append(b, "table "...), t.Family...), ' '), t.Name...), " {\n"...)
	b = appendCommentLine(b, "\t", t.Comment)
	for i := range t.Sets {
		s := &t.Sets[i]
		if annotate && s.Origin != (origin.Ref{}) {
			b = s.Origin.AppendComment(append(b, '\t'))
		}
		b = append(append(append(append(append(b, '\t'), s.Word()...), ' '), s.Name...), " {\n\t\t"...)
		b = append(s.appendSpec(b, "\n\t\t"), '\n')
		if len(s.Elements) > 0 {
			b = append(s.appendElements(append(b, "\t\telements = "...), s.Elements, true, ",\n\t\t\t     "), '\n')
		}
		b = append(b, "\t}\n"...)
	}
	for i := range t.Chains {
		c := &t.Chains[i]
		b = append(append(append(b, "\tchain "...), c.Name...), " {\n"...)
		b = appendCommentLine(b, "\t\t", c.Comment)
		if c.IsBase() {
			b = append(c.appendSpec(append(b, "\t\t"...)), '\n')
		}
		var last origin.Ref
		for j := range c.Rules {
			if r := &c.Rules[j]; annotate && r.Origin != last {
				if last = r.Origin; last != (origin.Ref{}) {
					b = last.AppendComment(append(b, "\t\t"...))
				}
			}
			b = append(c.Rules[j].appendWords(append(b, "\t\t"...)), '\n')
		}
		b = append(b, "\t}\n"...)
	}
	return append(b, "}\n"...)
}

// Word is nft's keyword for the set.
func (s *Set) Word() string {
	if s.IsMap() {
		return "map"
	}
	return "set"
}

// Spec is the set without its name and elements, as nft writes it: type ipv4_addr :
// verdict.
func (s *Set) Spec() string { return string(s.appendSpec(nil, "; ")) }

func (s *Set) appendSpec(b []byte, separator string) []byte {
	b = appendTypes(append(b, "type "...), s.Key)
	if s.IsMap() {
		b = appendTypes(append(b, " : "...), s.Data)
	}
	switch {
	case s.Interval:
		b = append(append(b, separator...), "flags interval"...)
	case s.Timeout > 0:
		b = strconv.AppendInt(append(append(b, separator...), "size "...), dynamicSize, 10)
		b = append(append(b, separator...), "flags dynamic,timeout"...)
		b = appendSeconds(append(append(b, separator...), "timeout "...), s.Timeout)
	}
	if s.Comment != "" {
		b = append(append(append(b, separator...), "comment \""...), s.Comment...)
		b = append(b, '"')
	}
	return b
}

// dynamicSize is how many elements a set holds to which rules add.
const dynamicSize = 65535

// appendSeconds appends a time as nft prints it: 1d2h3m4s.
func appendSeconds(b []byte, seconds uint32) []byte {
	for _, unit := range []struct {
		name    byte
		seconds uint32
	}{{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}} {
		if n := seconds / unit.seconds; n > 0 {
			b = append(strconv.AppendUint(b, uint64(n), 10), unit.name)
			seconds %= unit.seconds
		}
	}
	return b
}

func appendCommentLine(b []byte, indent, comment string) []byte {
	if comment == "" {
		return b
	}
	return append(append(append(append(b, indent...), "comment \""...), comment...), "\"\n"...)
}

func appendTypes(b []byte, types []Type) []byte {
	for i, t := range types {
		if i > 0 {
			b = append(b, " . "...)
		}
		b = append(b, t...)
	}
	return b
}

func (s *Set) appendElements(b []byte, list []Element, data bool, separator string) []byte {
	b = append(b, "{ "...)
	for i := range list {
		if i > 0 {
			b = append(b, separator...)
		}
		b = s.appendElement(b, &list[i], data)
	}
	return append(b, " }"...)
}

func (s *Set) appendElement(b []byte, e *Element, data bool) []byte {
	if b = appendValues(b, s.Key, e.Key); data {
		b = appendComment(b, e.Comment)
	}
	switch {
	case !data || !s.IsMap():
		return b
	case s.HasVerdicts():
		return e.Verdict.append(append(b, " : "...))
	}
	return appendValues(append(b, " : "...), s.Data, e.Data)
}

func appendValues(b []byte, types []Type, values []Value) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, " . "...)
		}
		if i < len(types) {
			b = appendValue(b, types[i], v)
		}
	}
	return b
}

// Words is an element as nft writes it.
func (s *Set) Words(e *Element) string { return string(s.appendElement(nil, e, true)) }

// Spec is the first line of a base chain in nft: type filter hook forward priority
// filter; policy accept;.
func (c *Chain) Spec() string { return string(c.appendSpec(nil)) }

func (c *Chain) appendSpec(b []byte) []byte {
	b = append(append(append(b, "type "...), c.Type...), " hook "...)
	b = appendPriority(append(append(b, c.Hook...), " priority "...), c.Hook, c.Priority)
	return append(append(append(b, "; policy "...), c.Policy...), ';')
}

// appendPriority appends a priority as nft prints it: in relation to one that has a name, if
// it is not farther than 10 from it.
func appendPriority(b []byte, hook string, priority int) []byte {
	for _, p := range []struct {
		name  string
		hooks string // all, if empty
		value int
	}{{"raw", "", -300}, {"mangle", "", -150}, {"dstnat", "prerouting", -100}, {"filter", "", 0}, {"security", "", 50}, {"srcnat", "postrouting", 100}} {
		d := priority - p.value
		if d < -10 || d > 10 || p.hooks != "" && p.hooks != hook {
			continue
		}
		switch b = append(b, p.name...); {
		case d > 0:
			return strconv.AppendInt(append(b, " + "...), int64(d), 10)
		case d < 0:
			return strconv.AppendInt(append(b, " - "...), int64(-d), 10)
		}
		return b
	}
	return strconv.AppendInt(b, int64(priority), 10)
}

// AppendText appends the edit as input for nft -f: a new table as one block, which is
// the same transaction, everything else command by command.
func (e *Edit) AppendText(b []byte, annotate bool) []byte {
	if e.Create {
		if annotate {
			b = e.Origin.AppendComment(b)
		}
		return e.appendBlock(b, annotate)
	}
	var last origin.Ref
	for _, c := range e.Commands() {
		if o := c.origin(); annotate && o != last {
			if last = o; o != (origin.Ref{}) {
				b = o.AppendComment(b)
			}
		}
		b = append(c.append(b), '\n')
	}
	return b
}

// MarshalJSON returns the set in nft's words.
func (s *Set) MarshalJSON() ([]byte, error) {
	elements := make([]string, 0, len(s.Elements))
	for i := range s.Elements {
		elements = append(elements, s.Words(&s.Elements[i]))
	}
	return json.Marshal(struct {
		Name     string     `json:"name"`
		Spec     string     `json:"spec"` // type ipv4_addr : verdict; flags interval
		Elements []string   `json:"elements"`
		Origin   origin.Ref `json:"origin,omitzero"`
	}{s.Name, s.Spec(), elements, s.Origin})
}

// MarshalJSON returns the chain; only a base chain has a priority.
func (c *Chain) MarshalJSON() ([]byte, error) {
	out := struct {
		Name     string `json:"name"`
		Type     string `json:"type,omitempty"`
		Hook     string `json:"hook,omitempty"`
		Priority *int   `json:"priority,omitempty"`
		Policy   string `json:"policy,omitempty"`
		Comment  string `json:"comment,omitempty"`
		Rules    []Rule `json:"rules,omitempty"`
	}{c.Name, c.Type, c.Hook, nil, c.Policy, c.Comment, c.Rules}
	if c.IsBase() {
		out.Priority = &c.Priority
	}
	return json.Marshal(out)
}

// MarshalJSON returns the rule in nft's words.
func (r *Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Rule   string     `json:"rule"`
		Origin origin.Ref `json:"origin,omitzero"`
	}{r.Words(), r.Origin})
}
