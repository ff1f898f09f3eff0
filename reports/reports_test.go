package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is a run with everything that a report can show.
func sample() Report {
	addr := netip.MustParseAddr
	one := func(o flow.Outcome) []Outcomes { return []Outcomes{{Outcome: o, Count: 1}} }
	return Report{Results: []Result{
		{
			Scenario: "local-policy", File: "scenarios/local-policy.hcl", Line: 40,
			Name: "the pod sees the client's address", Claim: "laptop to 192.168.0.11:31380 over tcp: connected",
			Status: Passed, Duration: Seconds(12 * time.Millisecond),
			Rows: []Row{
				{
					Who: "laptop", To: "192.168.0.11:31380", OK: true, Outcomes: one(flow.Connected),
					Sources: []netip.Addr{addr("192.168.0.100")}, Answers: []Answers{{Name: "web-0", Node: "node1", Count: 1}},
					Wanted: "connected", Observed: "connected",
				},
				{
					Who: "node1", To: "service web:80", OK: true, Outcomes: []Outcomes{{Outcome: flow.Connected, Count: 31}},
					Sources: []netip.Addr{addr("10.244.0.1"), addr("192.168.0.11")},
					Answers: []Answers{{Name: "web-0\x1b", Node: "node1", Count: 14}, {Name: "web-1", Node: "node2", Count: 17}},
					Wanted:  "connected", Observed: "connected",
				},
			},
		},
		{
			Scenario: "local-policy", File: "scenarios/local-policy.hcl", Line: 46,
			Name: "a node without an endpoint drops", Status: Failed, Duration: Seconds(5100 * time.Millisecond),
			Rows: []Row{
				{
					Who: "laptop", To: "192.168.0.12:31380", Outcomes: []Outcomes{{Outcome: flow.Connected, Count: 2}, {Outcome: flow.Timeout, Count: 1}},
					Sources: []netip.Addr{addr("192.168.0.12")}, Answers: []Answers{{Name: "web-0", Node: "node1", Count: 2}},
					Wanted: "timeout", Observed: "connected (2 of 3), timeout (1 of 3), answered by web-0",
					Rules: []string{
						"node.node2 nat -A KUBE-EXT-X -j KUBE-SVL-X",
						"node.node2 filter -A KUBE-EXTERNAL-SERVICES -p tcp --dport 31380 -j DROP",
					},
					Programs: []Program{{Name: "web-0", State: "running", Lines: []string{"GET / 200", "bell \a"}}},
				},
				{Who: "web-0", To: "192.168.0.12:31380", OK: true, Outcomes: one(flow.Timeout), Wanted: "timeout", Observed: "timeout"},
			},
			Warnings: []string{"Nothing in this scenario ever connects to 192.168.0.12:31380 over tcp."},
		},
		{
			Scenario: "local-policy", File: "scenarios/local-policy.hcl", Line: 60, Name: "ünïcode <&> in \"names\"",
			Status: Skipped, Reason: "this kernel has no ip_vs",
		},
		{
			Scenario: "broken", File: "broken.hcl", Name: "everything", Status: Failed, Duration: Seconds(3 * time.Millisecond),
			Failure: "node \"node1\": link \"vxlan.1\": create: file exists\nsecond line with a bell \a\n",
		},
	}}
}

// varied is a run of one scenario in two variations, and of another as it is written.
func varied() Report {
	r := sample()
	second := sample()
	for i := range 3 {
		r.Results[i].Variation, second.Results[i].Variation = "proxy=iptables", "proxy=ipvs"
	}
	second.Results[1].Status, second.Results[1].Rows = Passed, second.Results[1].Rows[1:]
	r.Results = slices.Insert(r.Results, 3, second.Results[:3]...)
	return r
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update rewrites it\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestRenderersMatchTheGoldens(t *testing.T) {
	golden(t, "matrix.txt", []byte(Matrix(sample(), false)))
	golden(t, "matrix-colour.txt", []byte(Matrix(sample(), true)))
	golden(t, "side-by-side.txt", []byte(Matrix(varied(), false)))
	golden(t, "side-by-side-colour.txt", []byte(Matrix(varied(), true)))
	for name, render := range map[string]func(Report) ([]byte, error){"junit.xml": JUnit, "report.json": JSON, "report.html": HTML} {
		got, err := render(sample())
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, got)
	}
}

// Rows about hosts: what holds, what does not, what paper does not know, and a disagreement.
func TestRowsAboutHosts(t *testing.T) {
	about := func(to string, ok, unknown, disagrees bool) Row {
		return Row{Who: "node1", To: to, OK: ok, About: true, Unknown: unknown, Disagrees: disagrees, Wanted: "has \"-j DROP\"", Observed: "2 rules", Predicted: "2 rules"}
	}
	r := Report{Results: []Result{
		{Scenario: "hosts", File: "hosts.hcl", Line: 3, Name: "rules", Status: Failed, Rows: []Row{about("rules nat X", true, false, false), about("rules filter \x1b", false, false, false)}},
		{Scenario: "hosts", File: "hosts.hcl", Line: 9, Name: "commands", Status: Skipped, Reason: "not predicted on paper: what a command prints", Rows: []Row{about("run ip address", true, true, false)}},
		{Scenario: "hosts", File: "hosts.hcl", Line: 12, Name: "packets", Status: Disagreed, Rows: []Row{about("packets at eth0", false, false, true)}},
	}}
	golden(t, "hosts.txt", []byte(Matrix(r, false)))
	for name, render := range map[string]func(Report) ([]byte, error){"hosts.xml": JUnit, "hosts.json": JSON} {
		got, err := render(r)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, got)
	}
}

func TestColourChangesNoText(t *testing.T) {
	text := Matrix(sample(), true)
	for {
		i := strings.Index(text, "\x1b[")
		if i < 0 {
			break
		}
		text = text[:i] + text[i+strings.Index(text[i:], "m")+1:]
	}
	// A blank before the colour ends is invisible.
	if plain := Matrix(sample(), false); strings.ReplaceAll(text, " \n", "\n") != plain {
		t.Errorf("got\n%s\nwant\n%s", text, plain)
	}
}

func TestJUnitIsWellFormedAndCounts(t *testing.T) {
	text, err := JUnit(sample())
	if err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	want := map[string]int{"testsuites": 1, "testsuite": 2, "testcase": 4, "failure": 2, "skipped": 1, "system-out": 2}
	for name, n := range want {
		if elements[name] != n {
			t.Errorf("%d elements %s, want %d", elements[name], name, n)
		}
	}
	if len(elements) != len(want) {
		t.Errorf("elements %v, want %v", elements, want)
	}
}

func TestAnEmptyReport(t *testing.T) {
	if got := Matrix(Report{}, false); got != "0 passed in 0 ms\n" {
		t.Errorf("got %q", got)
	}
	text, err := JSON(Report{})
	if err != nil || !json.Valid(text) || !strings.Contains(string(text), `"results": []`) {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := JUnit(Report{}); err != nil || !strings.Contains(string(text), `<testsuites tests="0"`) {
		t.Errorf("%v: %s", err, text)
	}
}
