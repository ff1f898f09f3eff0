package topology

import "testing"

func TestTheCommonHostIsTheNarrowerOne(t *testing.T) {
	for _, row := range []struct {
		a, b, want string
		ok         bool
	}{
		{"", "", "", true},
		{"", "a.example", "a.example", true},
		{"a.example", "a.example", "a.example", true},
		{"a.example", "b.example", "", false},
		{"*.example", "a.example", "a.example", true},
		{"*.example", "a.b.example", "a.b.example", true},
		{"*.example", "example", "", false},
		{"*.example", "*.b.example", "*.b.example", true},
		{"*.a.example", "*.b.example", "", false},
		{"*.ample", "a.example", "", false},
		{"*.example", "", "*.example", true},
	} {
		for _, got := range []func() (string, bool){func() (string, bool) { return CommonHost(row.a, row.b) }, func() (string, bool) { return CommonHost(row.b, row.a) }} {
			if host, ok := got(); host != row.want || ok != row.ok {
				t.Errorf("%q and %q: got %q %v, want %q %v", row.a, row.b, host, ok, row.want, row.ok)
			}
		}
	}
}
