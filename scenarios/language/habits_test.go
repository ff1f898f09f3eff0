package language

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// camel is a name as Kubernetes spells it: targetPort.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func TestEveryNameInCamelCaseGetsAHint(t *testing.T) {
	tried := 0
	for kind, s := range tables(t) {
		names := s.AttrNames()
		for _, b := range s.Blocks {
			names = append(names, b.Name)
		}
		for _, name := range names {
			if strings.Contains(name, "_") {
				tried++
				if got := topology.Nearest(camel(name), names); got != name {
					t.Errorf("%s: %s leads to %q", kind, camel(name), got)
				}
			}
		}
	}
	if tried < 40 {
		t.Errorf("tried %d names only", tried)
	}
}

func TestSuggestionsHoldNothingThatIsPlanned(t *testing.T) {
	s := blocks.Schema{Attrs: []blocks.Attribute{{At: new(string), Name: "there"}, {Name: "planned"}}}
	if got := s.AttrNames(); !slices.Equal(got, []string{"there"}) {
		t.Errorf("suggested: %v", got)
	}
}
