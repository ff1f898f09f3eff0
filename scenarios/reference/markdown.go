package reference

import (
	"fmt"
	"strings"
)

// Markdown is scenarios/LANGUAGE.md: the whole language on one page.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# The language of scenarios\n\n`netlab help language --markdown` writes this page, from the tables by which netlab reads scenarios; `netlab help language\n" +
		"BLOCK.ATTRIBUTE` shows a part of it. A scenario is HCL, native (`.hcl`) or JSON (`.hcl.json`). The last column names a scenario that ships and\n" +
		"uses the attribute, or the same one of a block that is alike.\n\n" +
		"A folder named `NAME.lab` is one lab, and its files are parts of it. In any other folder each file is a lab of its own.\n\n" +
		"Every block with a label, except a variable, can make several objects: `count = 3` makes `pod.web[0]` to `pod.web[2]`, each with\n" +
		"`count.index`; `for_each` goes over a map or a set of strings and makes `pod.web[\"a\"]`, each with `each.key` and `each.value`. (The `count` of an\n" +
		"`expect` is that of its connections.) `pod.web[*].ip` and `[for p in pod.web : p.ip]` go over all of them, `[for n in node : n.ip]` over all nodes.\n" +
		"Blocks inside others are repeated by `dynamic \"port\" { for_each = … content { … } }`. Expressions refer to an object by the label of its block;\n" +
		"everything else, such as rules, DNS and the command line, by its `name`, which is unique per kind and namespace: `pod.web[0]` is called\n" +
		"`web-0` unless `name` says otherwise.\n\n")
	file := top()
	b.WriteString("| block | |\n|---|---|\n")
	for _, e := range file.within() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", e.name(), anchor(e.Path), cell(e.Means))
	}
	written := map[string]string{}
	for _, e := range file.within() {
		e.section(&b, written)
	}
	b.WriteString("\n## references\n\n| what expressions can refer to | what it has |\n|---|---|\n")
	for _, r := range references() {
		fmt.Fprintf(&b, "| %s | %s |\n", r[0], r[1])
	}
	b.WriteString("\nWith `count`, an object is `pod.web[0]`, with `for_each` `pod.web[\"a\"]`; all of them are `pod.web[*]`. A service as a target is its cluster\nIP; the address of its load balancer is `addr(service.web.load_balancer_ip, 80)`.\n")
	b.WriteString("\n## functions\n\nWith the names and meanings that they have in Terraform; `addr(ip, port)` is `IP:PORT`, with brackets around IPv6.\nNone reads a clock or the environment, and none is random.\n\n")
	for i, s := range signatures() {
		if i > 0 {
			b.WriteString(" ·\n")
		}
		b.WriteString("`" + s + "`")
	}
	b.WriteString("\n")
	return b.String()
}

// section writes a block and those in it. Blocks that are alike, such as all selectors,
// are written once: written has the paths of those that were.
func (e Entry) section(b *strings.Builder, written map[string]string) {
	title := "##"
	if strings.Contains(e.Path, ".") {
		title = "###"
	}
	within := e.within()
	if len(within) == 0 && title == "###" {
		return // a mode without options
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s\n", title, e.Path, e.Means)
	if before, ok := written[e.shape()]; ok {
		fmt.Fprintf(b, "It holds what [%s](#%s) holds.\n", before, anchor(before))
		return
	}
	written[e.shape()] = e.Path
	var blocks []Entry
	for i, in := range within {
		if in.Block {
			blocks = append(blocks, in)
			continue
		}
		if i == 0 {
			b.WriteString("\n| attribute | type | default | | for example |\n|---|---|---|---|---|\n")
		}
		in.row(b)
	}
	for _, in := range blocks {
		in.section(b, written)
	}
}

// row writes an attribute as a row of the table of its block.
func (e Entry) row(b *strings.Builder) {
	a := e.Attribute
	standard := ""
	switch {
	case a.Required:
		standard = "required"
	case a.Default != "":
		standard = "`" + a.Default + "`"
	}
	example := ""
	if list := e.Uses(); len(list) > 0 {
		example = fmt.Sprintf("[%s](%s#L%d)", list[0].Lab.Name, list[0].Lab.Path, list[0].Line)
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", e.name(), a.Type(), standard, cell(e.Means), example)
}

// cell escapes what would end a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// anchor is the fragment by which a page links to a heading.
func anchor(title string) string { return strings.ReplaceAll(title, ".", "") }
