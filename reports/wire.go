package reports

// Wire is what a variation of a scenario is on the wire: facts about one connection
// between pods of two nodes, and about a node.
type Wire struct {
	Scenario  string `json:"scenario"`
	Variation string `json:"variation"`
	File      string `json:"file"`
	Pair      string `json:"pair"` // the pods: a on node1 → b on node2
	Facts     []Fact `json:"facts"`
}

// Fact is one line of the table: what it is, and its value in this variation.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"` // "-": unknown
}

// wireOf finds the facts of a variation.
func (r Report) wireOf(x Result) *Wire {
	for i, w := range r.Wires {
		if w.Scenario == x.Scenario && w.File == x.File && w.Variation == x.Variation {
			return &r.Wires[i]
		}
	}
	return nil
}

// wires are the lines of a table of variations that say what differs on the wire, below a
// line with the pair of pods.
func (r Report) wires(group [][]Result) []comparison {
	head := comparison{same: true}
	var lines []comparison
	for i, results := range group {
		w := r.wireOf(results[0])
		head.cells, head.style = append(head.cells, ""), append(head.style, quiet)
		if w == nil {
			continue
		}
		head.label = "ON THE WIRE, " + printable(w.Pair)
		for k, fact := range w.Facts {
			for len(lines) <= k {
				l := comparison{label: "  " + printable(fact.Name)}
				for range group {
					l.cells, l.style = append(l.cells, "-"), append(l.style, quiet)
				}
				lines = append(lines, l)
			}
			lines[k].cells[i], lines[k].style[i] = printable(fact.Value), neutral
		}
	}
	if lines == nil {
		return nil
	}
	for i := range lines {
		lines[i].same = allSame(lines[i].cells)
	}
	return append([]comparison{head}, lines...)
}
