package walk_test

import (
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/fault"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/render"
	"github.com/netlab/netlab/scenarios/expect/trial"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
)

// TestScenariosHoldOnPaper checks every claim of every scenario without a kernel.
func TestScenariosHoldOnPaper(t *testing.T) {
	paths, err := source.Find([]string{"../../scenarios"})
	if err != nil || len(paths) < 9 {
		t.Fatalf("%d scenarios: %v", len(paths), err)
	}
	for _, path := range paths {
		s, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue()})
		if diags.HasErrors() {
			t.Errorf("%s: %s", path, diags.JSON())
			continue
		}
		p, err := datapath.Compile(s.Lab)
		if err == nil {
			p, err = datapath.OnPaper(s.Lab, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Expects {
			broken := p
			if e.During != nil {
				if broken, err = fault.Apply(s.Lab, p, e.During); err != nil {
					t.Fatal(err)
				}
			}
			for _, f := range trial.Predict(e, walk.New(broken)) {
				if len(f.Wrong) > 0 {
					t.Errorf("%s: %s: %s to %s: %q\n%s", s.Name, e.Name, f.Who, f.To, f.Wrong, render.Text(f.Prediction, render.Brief))
				}
			}
		}
	}
}
