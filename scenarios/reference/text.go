package reference

import (
	"fmt"
	"slices"
	"strings"
)

// Functions is the path of the page of functions.
const Functions = "functions"

// Overview is the list of all blocks of a file.
func Overview() string {
	var b strings.Builder
	b.WriteString("A scenario is made of blocks:\n\n")
	writeBlocks(&b, top().within())
	b.WriteString(`
Below them come attributes, such as type = "NodePort", and further blocks.

  netlab help language service           a block: what it may hold
  netlab help language service.type      an attribute: its type, default and use
  netlab help language functions         what expressions can call
  netlab help language references        what expressions can refer to

Blocks with a label make several objects with count = 3, as pod.web[0] to
pod.web[2], or with for_each, as pod.web["a"]. A folder named NAME.lab is one
lab; in any other folder each file is a lab of its own.
`)
	return b.String()
}

// Text describes entries of one path.
func Text(found []Entry) string {
	var parts []string
	for _, e := range found {
		if e.Block {
			parts = append(parts, e.blockText())
		} else {
			parts = append(parts, e.attributeText())
		}
	}
	return strings.Join(parts, "\n")
}

// header is how a block begins in a file.
func (e Entry) header() string {
	if e.Labeled {
		return e.name() + ` "NAME"`
	}
	return e.name()
}

func (e Entry) blockText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s { … }\n%s", e.Path+strings.TrimPrefix(e.header(), e.name()), fold(e.Means, 2))
	within := e.within()
	nested := slices.IndexFunc(within, func(in Entry) bool { return in.Block })
	if nested < 0 {
		nested = len(within)
	}
	if nested > 0 {
		b.WriteString("\nAttributes\n")
	}
	for _, in := range within[:nested] {
		fmt.Fprintf(&b, "  %s  %s\n%s", in.name(), in.value(), fold(in.Means, 6))
	}
	if nested < len(within) {
		b.WriteString("\nBlocks\n")
		writeBlocks(&b, within[nested:])
	}
	b.WriteString("\n" + e.usedText())
	return b.String()
}

func writeBlocks(b *strings.Builder, list []Entry) {
	wide := 0
	for _, in := range list {
		wide = max(wide, len(in.header()))
	}
	for _, in := range list {
		text := fold(in.Means, wide+4)
		fmt.Fprintf(b, "  %-*s  %s", wide, in.header(), strings.TrimLeft(text, " "))
	}
}

// value is the type of an attribute, and what holds if it is not written.
func (e Entry) value() string {
	a := e.Attribute
	switch {
	case a.Required:
		return a.Type() + ", required"
	case a.Default != "":
		return a.Type() + ", default " + a.Default
	}
	return a.Type()
}

func (e Entry) attributeText() string {
	return fmt.Sprintf("%s\n  %s\n%s\n%s", e.Path, e.value(), fold(e.Means, 2), e.usedText())
}

// usedText names up to three scenarios that use an entry, with the line of the first.
func (e Entry) usedText() string {
	list := e.Uses()
	if len(list) == 0 {
		return ""
	}
	first := list[0]
	text := "Used by " + first.Lab.Name
	for _, u := range list[1:min(3, len(list))] {
		text += ", " + u.Lab.Name
	}
	if n := len(list) - 3; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	text += fmt.Sprintf(". netlab init %s writes the first into this folder, with", first.Lab.Name)
	return fold(text, 0) + fmt.Sprintf("  %d: %s\n", first.Line, first.Text)
}

// fold breaks a sentence into lines of at most 80 columns, indented.
func fold(text string, indent int) string {
	var b strings.Builder
	line := strings.Repeat(" ", indent)
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > 80 {
			b.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", indent), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + line + "\n"
}
