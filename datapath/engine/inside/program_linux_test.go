package inside

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// However much a program writes, the end of it is kept, from the beginning of a line.
func TestOutputIsBounded(t *testing.T) {
	told := 0
	o := &output{tell: func() { told++ }}
	written := int64(0)
	for i := range 20_000 {
		n, _ := fmt.Fprintf(o, "line %d\n", i)
		written += int64(n)
	}
	text, first := o.since(0)
	if len(text) > outputLimit || len(text) < outputLimit/2 || first+int64(len(text)) != written {
		t.Errorf("%d bytes kept after %d, of %d", len(text), first, written)
	}
	if !bytes.HasPrefix(text, []byte("line ")) || !bytes.HasSuffix(text, []byte("line 19999\n")) {
		t.Errorf("it begins %.20q", text)
	}
	if told != 20_000 {
		t.Errorf("told %d times", told)
	}
	if rest, from := o.since(written - 11); string(rest) != "line 19999\n" || from != written-11 {
		t.Errorf("the rest is %q from %d", rest, from)
	}
	if rest, from := o.since(written); len(rest) != 0 || from != written {
		t.Errorf("nothing new is %q from %d", rest, from)
	}
	if got := o.last(2); !slices.Equal(got, []string{"line 19998", "line 19999"}) {
		t.Errorf("last lines: %q", got)
	}
	_, _ = o.Write(bytes.Repeat([]byte("x"), 3*outputLimit))
	if text, _ := o.since(0); len(text) != outputLimit {
		t.Errorf("%d bytes kept of a line that never ends", len(text))
	}
}

func TestListeningSocketsAreFound(t *testing.T) {
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	all, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	open, err := openSockets()
	if err != nil {
		t.Fatal(err)
	}
	taken := func(protocol string, port int, addr string) bool {
		return slices.ContainsFunc(open, func(s socketRecord) bool {
			return s.Listen == occupant.Listen{Protocol: protocol, Port: uint16(port)} && s.takes(netip.MustParseAddr(addr))
		})
	}
	loopback, wildcard, datagrams := tcp.Addr().(*net.TCPAddr).Port, all.Addr().(*net.TCPAddr).Port, udp.LocalAddr().(*net.UDPAddr).Port
	for _, row := range []struct {
		protocol string
		port     int
		addr     string
		want     bool
	}{
		{"tcp", loopback, "127.0.0.1", true},
		{"tcp", loopback, "10.0.0.1", false},
		{"udp", loopback, "127.0.0.1", false},
		{"tcp", wildcard, "10.0.0.1", true},
		{"tcp", wildcard, "fd00::1", true},
		{"udp", datagrams, "127.0.0.1", true},
		{"udp", datagrams, "10.0.0.1", false},
	} {
		if got := taken(row.protocol, row.port, row.addr); got != row.want {
			t.Errorf("%s port %d at %s: %v", row.protocol, row.port, row.addr, got)
		}
	}
}

// What is not installed is found before anything is built, unless the scenario brings it.
func TestMissingProgramsAreFound(t *testing.T) {
	for _, row := range []struct {
		x       occupant.Exec
		missing string
	}{
		{occupant.Exec{Argv: []string{"sh"}}, ""},
		{occupant.Exec{Argv: []string{"/bin/sh"}}, ""},
		{occupant.Exec{Argv: []string{"bin/sh"}}, ""}, // in the root directory
		{occupant.Exec{Argv: []string{"no-such"}}, "no-such"},
		{occupant.Exec{Argv: []string{"/bin/no-such"}}, "/bin/no-such"},
		{occupant.Exec{Argv: []string{"sh"}, Env: []string{"PATH=/no-such"}}, "sh"},
		{occupant.Exec{Argv: []string{"no-such"}, Files: []occupant.File{{Path: "/usr/bin/no-such"}}}, ""},
	} {
		row.x.Name, row.x.Origin = "web", plan.Origin{File: "web.hcl", Line: 7}
		err := installed(&plan.Plan{Netns: []plan.Netns{{Execs: []occupant.Exec{row.x}}}})
		switch {
		case row.missing == "" && err != nil:
			t.Errorf("%v: %v", row.x.Argv, err)
		case row.missing != "" && (err == nil || !strings.HasPrefix(err.Error(), "web.hcl:7: the program of pod web cannot run: "+row.missing)):
			t.Errorf("%v: %v", row.x.Argv, err)
		}
	}
}

// kube-proxy is ready when it has written all that it has heard of.
func TestRulesAreWritten(t *testing.T) {
	now := time.Unix(1_700_000_100, 0)
	stamp := func(what, label string, ago float64) string {
		return fmt.Sprintf("kubeproxy_sync_proxy_rules_%s_timestamp_seconds%s %v\n", what, label, 1_700_000_100-ago)
	}
	const four, six = `{ip_family="IPv4"}`, `{ip_family="IPv6"}`
	none := "# TYPE kubeproxy_sync_proxy_rules_last_timestamp_seconds gauge\nkubeproxy_sync_proxy_rules_last_timestamp_seconds" + four + " 0\n"
	for _, c := range []struct {
		name, metrics string
		families      []string
		want          string
	}{
		{"no metrics", "", []string{"IPv4"}, "it has not written the rules for IPv4"},
		{"nothing written", none + stamp("last_queued", four, 1), []string{"IPv4"}, "it has not written the rules for IPv4"},
		{"written", stamp("last_queued", four, 2) + stamp("last", four, 1), []string{"IPv4"}, ""},
		{"of another family", stamp("last", four, 1), []string{"IPv4", "IPv6"}, "it has not written the rules for IPv6"},
		{"more is queued", stamp("last_queued", four, 1) + stamp("last", four, 1.25), []string{"IPv4"}, "it is about to write the rules for IPv4 again"},
		{"more is queued in one family", stamp("last", four, 1) + stamp("last", six, 2) + stamp("last_queued", six, 1.5), []string{"IPv4", "IPv6"}, "it is about to write the rules for IPv6 again"},
		{"queued as it began", stamp("last_queued", four, 6) + stamp("last", four, 6.5), []string{"IPv4"}, ""},
		{"before 1.34", stamp("last_queued", "", 2) + stamp("last", "", 1), []string{"IPv4", "IPv6"}, ""},
		{"before 1.34, more is queued", stamp("last_queued", "", 1) + stamp("last", "", 2), []string{"IPv4"}, "it is about to write the rules for IPv4 again"},
	} {
		got := ""
		if err := rulesWritten(strings.NewReader(c.metrics), c.families, now); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
