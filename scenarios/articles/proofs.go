package articles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/scenarios"
	"github.com/netlab/netlab/scenarios/index"
)

// prefix begins the names of claims in proves.
const prefix = "articles."

// Proof is an expectation that proves a claim.
type Proof struct {
	Lab    scenarios.Lab
	Expect string // its name
}

// Proofs are the expectations of the scenarios that ship, by the numbers of the claims that
// they prove, in the order of the scenarios. A name that stands for no claim is an error.
func Proofs() (map[int][]Proof, error) {
	known := map[int]bool{}
	for _, c := range Claims() {
		known[c.Number] = true
	}
	out := map[int][]Proof{}
	for _, lab := range scenarios.All() {
		variations, err := index.Load(lab)
		if err != nil {
			return nil, err
		}
		for _, s := range variations {
			for _, e := range s.Expects {
				for _, what := range e.Proves {
					number, ours := strings.CutPrefix(what, prefix)
					if !ours {
						continue
					}
					n, err := strconv.Atoi(number)
					if err != nil || !known[n] {
						return nil, fmt.Errorf("%s: %q proves %s, which no article claims", lab.Path, e.Name, what)
					}
					if !slices.ContainsFunc(out[n], func(p Proof) bool { return p.Lab.Path == lab.Path && p.Expect == e.Name }) {
						out[n] = append(out[n], Proof{lab, e.Name})
					}
				}
			}
		}
	}
	return out, nil
}
