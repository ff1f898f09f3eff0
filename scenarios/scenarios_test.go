package scenarios_test

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/scenarios"
)

func TestEveryLabHasAOwnNameOwnAndSaysWhatItShows(t *testing.T) {
	all := scenarios.All()
	if len(all) < 70 || all[0].Name != "local-policy" {
		t.Fatalf("%d labs, the first is %q", len(all), all[0].Name)
	}
	names := map[string]bool{}
	for _, lab := range all {
		if names[lab.Name] {
			t.Errorf("%s: another lab has this name", lab.Path)
		}
		names[lab.Name] = true
		if n := len(lab.Shows); n < 40 || n > 300 || !strings.ContainsAny(lab.Shows[n-1:], ".?") {
			t.Errorf("%s shows %q: want a sentence", lab.Path, lab.Shows)
		}
		if !strings.HasPrefix(string(lab.Text), "# ") {
			t.Errorf("%s does not begin with what one will see", lab.Path)
		}
	}
}

func TestLabsAreFoundByNameAndByPath(t *testing.T) {
	for _, name := range []string{"policy-ports", "policy-ports.hcl", "policies/policy-ports", "scenarios/policies/policy-ports.hcl"} {
		if lab, ok := scenarios.Find(name); !ok || lab.Path != "policies/policy-ports.hcl" {
			t.Errorf("%s: got %q, %v", name, lab.Path, ok)
		}
	}
	for _, name := range []string{"", "policies", "services/policy-ports", "../policy-ports"} {
		if lab, ok := scenarios.Find(name); ok {
			t.Errorf("%s: got %s", name, lab.Path)
		}
	}
}
