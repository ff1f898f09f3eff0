package feature

import (
	"strings"
	"testing"
)

func TestEveryFeatureHasItsCostAndRemedy(t *testing.T) {
	seen := map[Feature]bool{}
	for _, f := range All() {
		a := f.About()
		with, without := a.RemedyWhere(func(string) bool { return true }), a.RemedyWhere(func(string) bool { return false })
		if strings.Contains(without, "modprobe") || a.Module != "" && !strings.Contains(with, "modprobe "+a.Module) {
			t.Errorf("%s: %s; without the module: %s", f, with, without)
		}
		if a.Costs == "" || a.Remedy == "" || a.Config == "" {
			t.Errorf("%s: %+v", f, a)
		}
		if seen[f] {
			t.Errorf("%s is listed twice", f)
		}
		seen[f] = true
	}
}
