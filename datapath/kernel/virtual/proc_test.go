//go:build linux

package virtual

import "testing"

func TestProcAddressesAreParsed(t *testing.T) {
	for in, want := range map[string]string{
		"0A60000A:0050": "10.96.0.10:80", "01020304:FFFF": "1.2.3.4:65535",
		"[fd00:0000:0000:0000:0000:0000:0000:0010]:0035": "[fd00::10]:53",
	} {
		if got, err := parseHexAddr(in); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{"", "RemoteAddress:Port", "0A60000A", "0A60:0050", "[fd00]:0050"} {
		if got, err := parseHexAddr(in); err == nil {
			t.Errorf("%q is read as %s", in, got)
		}
	}
}
