package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/walk/trace"
)

// Compared is the prediction of one variation of a lab.
type Compared struct {
	Name       string           `json:"variation"` // proxy=ipvs
	Prediction trace.Prediction `json:"prediction"`
}

// Compare shows the same flow in several variations, for a terminal: their results side by
// side, the steps up to where their walks part, and then what each does.
func Compare(list []Compared, d Detail) string {
	var b strings.Builder
	first := list[0].Prediction.Flow
	fmt.Fprintf(&b, "%s -> %s %s\n\n", first.From, cmp.Or(first.Protocol, flow.TCP), first.To)
	resultsTable(&b, list)
	paths := alike(list, d)
	together := len(paths[0])
	for _, p := range paths[1:] {
		together = min(together, parting(paths[0], p))
	}
	if together > 0 {
		fmt.Fprintf(&b, "\nin all\n")
		var w textWriter
		for _, s := range paths[0][:together] {
			w.step(&b, s)
		}
	}
	if !slices.ContainsFunc(paths, func(p []*trace.Step) bool { return len(p) > together }) {
		b.WriteString("\nThey do not part.\n")
		return b.String()
	}
	b.WriteString("\nHere they part.\n")
	for i, p := range paths {
		fmt.Fprintf(&b, "\n%s\n", list[i].title())
		var w textWriter
		for _, s := range p[together:] {
			w.step(&b, s)
		}
		if len(p) == together {
			b.WriteString("  nothing more\n")
		}
	}
	return b.String()
}

// title is the name, and how many paths there are besides the one that is shown.
func (c *Compared) title() string {
	if n := len(c.Prediction.Branches); n > 1 {
		return fmt.Sprintf("%s, one of %d paths", c.Name, n)
	}
	return c.Name
}

// resultsTable is a line per result, and a column per variation with how likely it is there.
func resultsTable(b *strings.Builder, list []Compared) {
	var results []string
	shares := map[string][]float64{}
	for i, c := range list {
		for _, e := range c.Prediction.Results() {
			text := e.Value.String()
			if shares[text] == nil {
				results = append(results, text)
				shares[text] = make([]float64, len(list))
			}
			shares[text][i] += e.Probability
		}
		fmt.Fprintf(b, "%s  ", c.Name)
	}
	b.WriteByte('\n')
	for _, text := range results {
		for i, c := range list {
			share := "-"
			if p := shares[text][i]; p > 0 {
				share = percent(p)
			}
			fmt.Fprintf(b, "%-*s  ", len(c.Name), share)
		}
		fmt.Fprintln(b, text)
	}
}

// alike are the steps that matter of one path of each variation: those that end as alike, and
// stay together as long, as there are.
func alike(list []Compared, d Detail) [][]*trace.Step {
	branch := &list[0].Prediction.Branches[0]
	out := [][]*trace.Step{shown(branch, d)}
	for _, c := range list[1:] {
		best, together := 0, -1
		for i := range c.Prediction.Branches {
			other := &c.Prediction.Branches[i]
			n := parting(out[0], shown(other, d))
			if other.Answer == branch.Answer {
				n += len(out[0])
			}
			if n > together {
				best, together = i, n
			}
		}
		out = append(out, shown(&c.Prediction.Branches[best], d))
	}
	return out
}

func shown(b *trace.Branch, d Detail) (list []*trace.Step) {
	for i := range b.Steps {
		if s := &b.Steps[i]; d == Full || matters(s) {
			list = append(list, s)
		}
	}
	return list
}

// parting is how many steps two paths have in common before the first that reads differently.
func parting(a, b []*trace.Step) int {
	n := 0
	for n < len(a) && n < len(b) && reads(a[n]) == reads(b[n]) {
		n++
	}
	return n
}

// reads is a step with the headings above it.
func reads(s *trace.Step) string {
	return strings.Join([]string{string(s.Leg), s.Netns, hookOf(s), line(s)}, "\n")
}
