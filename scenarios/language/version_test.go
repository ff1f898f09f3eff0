package language

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
)

func TestRequiredVersionIsCompared(t *testing.T) {
	for _, tt := range []struct {
		want, have, says string
	}{
		{">= 1.0", "1.2.3", ""},
		{">= 1.0, < 2", "2.0.0", "Another version required"},
		{"~> 1.2", "1.9.0", ""},
		{"~> 1.2", "2.0.0", "Another version required"},
		{"~> 1.2.3", "1.3.0", "Another version required"},
		{"1.2.3", "v1.2.3", ""},
		{"!= 1.2.3", "1.2.3", "Another version required"},
		{"> 99", "devel", ""},
		{"soon", "1.0.0", "Invalid version constraint"},
		{">= 1..2", "", "Invalid version constraint"},
	} {
		src := "netlab {\n  name = \"other\"\n  required_version = \"" + tt.want + "\"\n}\nnode \"node1\" {}\n"
		s, diags := Load("-", Options{Catalogue: datapath.Catalogue(), Stdin: strings.NewReader(src), Version: tt.have})
		got := diagnosticsText(diags)
		if s.Name != "other" || tt.says == "" && got != "" || !strings.Contains(got, tt.says) {
			t.Errorf("%q with %q: want %q, got %q", tt.want, tt.have, tt.says, got)
		}
	}
}
