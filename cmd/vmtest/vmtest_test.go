//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/vm"
)

const kernelPkg = "github.com/netlab/netlab/datapath/kernel"

func TestEventsOfGoTestAreFollowed(t *testing.T) {
	events := `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"run","Package":"p","Test":"TestA/b"}
{"Action":"output","Package":"p","Test":"TestA/b","Output":"    x_test.go:1: this machine lacks what the lab needs: ip_vs (no such file)\n"}
{"Action":"skip","Package":"p","Test":"TestA/b","Elapsed":0.5}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"pass","Package":"p","Elapsed":2}
{"Action":"run","Package":"r","Test":"TestE"}
{"Action":"output","Package":"r","Test":"TestE","Output":"exits in the middle\n"}
{"Action":"output","Package":"r","Output":"FAIL\n"}
{"Action":"fail","Package":"r","Elapsed":3}
{"ImportPath":"q [q.test]","Action":"build-output","Output":"q.go:1: undefined: x\n"}
{"ImportPath":"q [q.test]","Action":"build-fail"}
`
	var got []Test
	if err := follow(strings.NewReader(events), func(t Test) { got = append(got, t) }); err != nil {
		t.Fatal(err)
	}
	want := []Test{
		{"p", "TestA/b", skipped, 0.5, "    x_test.go:1: this machine lacks what the lab needs: ip_vs (no such file)\n"},
		{"p", "TestA", passed, 1, ""},
		{"p", "", passed, 2, "PASS\n"},
		{"r", "", failed, 3, "exits in the middle\nFAIL\n"},
		{"q [q.test]", "", failed, 0, "q.go:1: undefined: x\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := follow(strings.NewReader("no JSON\n"), func(Test) {}); err == nil {
		t.Error("a line that is not an event passes")
	}
}

func TestReasonsNameFeatures(t *testing.T) {
	for _, row := range []struct {
		name, output string
		lacks        bool
		want         []string
	}{
		{"of a lab", "this machine lacks what the lab needs: dummy (operation not supported), ip_vs (x: no such file or directory (y)), ipset (z)", true, []string{"ipset", "ip_vs", "dummy"}},
		{"of a test", "this kernel lacks ip_vs: ip_vs: no such file or directory (modprobe)", true, []string{"ip_vs"}},
		{"beside features", "x.go:1: this kernel lacks a machine of its own: why", true, []string{"a machine of its own"}},
		{"another reason", "takes a minute", false, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			test := Test{Status: skipped, Output: row.output + "\n"}
			if test.lacks() != row.lacks {
				t.Errorf("lacks is %v", test.lacks())
			}
			if diff := cmp.Diff(row.want, test.features()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			test.Status = passed
			if test.lacks() {
				t.Error("a passed test lacks something")
			}
		})
	}
}

func TestSkippedTestsArePickedByTheirParent(t *testing.T) {
	lacks := "this machine lacks what the lab needs: ip_vs (why)\n"
	got := pick([]Test{
		{"p", "TestScenarios/b", skipped, 0, lacks}, {"p", "TestScenarios/a.b", skipped, 0, lacks}, {"p", "TestScenarios/a.b", skipped, 0, lacks},
		{"p", "TestScenarios", passed, 0, ""}, {"p", "TestOther", skipped, 0, "takes a minute\n"}, {"p", "TestTop", skipped, 0, lacks},
		{"o", "TestX/y/z", skipped, 0, lacks}, {"p", "TestBad", failed, 0, lacks},
	})
	want := []selection{
		{"o", "^TestX$/^y$/^(z)$", []string{"TestX/y/z"}},
		{"p", "^(TestTop)$", []string{"TestTop"}},
		{"p", `^TestScenarios$/^(a\.b|b)$`, []string{"TestScenarios/a.b", "TestScenarios/b"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(selection{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"o", "p"}, packagesOf(got)); diff != "" {
		t.Errorf("packages, -want +got:\n%s", diff)
	}
}

func TestLogOfABinaryIsRead(t *testing.T) {
	log := `=== RUN   TestA
=== RUN   TestA/b
    a_test.go:7: wrong
=== RUN   TestA/c
--- FAIL: TestA (1.50s)
    --- FAIL: TestA/b (1.00s)
    --- PASS: TestA/c (0.50s)
=== RUN   TestD
    d_test.go:3: this kernel lacks ip_vs: gone
--- SKIP: TestD (0.00s)
FAIL
`
	var got []string
	tests, err := parseLog(t.Context(), kernelPkg, strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		got = append(got, test.Name+" "+string(test.Status)+" "+strings.Join(test.features(), ","))
	}
	want := []string{"TestA/b fail ", "TestA/c pass ", "TestA fail ", "TestD skip ip_vs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTableHasEveryTestThatCouldNotRunHere(t *testing.T) {
	lacks := "this machine lacks what the lab needs: ip_vs (why)\n"
	host := []Test{
		{kernelPkg, "TestA", passed, 1, ""}, {kernelPkg, "TestB", passed, 1, ""}, {kernelPkg, "TestSlow", skipped, 1, "takes a minute\n"},
		{"p", "TestX/here", failed, 1, "wrong\n"}, {"p", "TestX", failed, 1, ""}, {"p", "", failed, 1, ""},
		{"p", "TestX/there", skipped, 0, lacks}, {"p", "TestX/nowhere", skipped, 0, lacks}, {"p", "TestX/wrong", skipped, 0, lacks}, {"p", "TestX/lost", skipped, 0, lacks},
	}
	guest := []Test{
		{"p", "TestX/there", passed, 3.14, ""}, {"p", "TestX/nowhere", skipped, 0, lacks}, {"p", "TestX/wrong", failed, 0, ""}, {"p", "TestX", failed, 0, ""},
		{"doctor", "ipip", failed, 0, ""}, {"doctor", "dummy", passed, 0, ""},
	}
	text, wrong := render(judge(host, guest))
	want := `SPEC             HOST         VM               VERDICT
datapath/kernel  2 passed     -                ok
doctor ipip      -            FAILED           FAIL
p TestX/here     FAILED       -                FAIL
p TestX/lost     lacks ip_vs  did not run      FAIL
p TestX/nowhere  lacks ip_vs  lacks ip_vs      FAIL
p TestX/there    lacks ip_vs  passed in 3.1 s  ok
p TestX/wrong    lacks ip_vs  FAILED           FAIL
`
	if diff := cmp.Diff(want, text); diff != "" || wrong != 5 {
		t.Errorf("%d wrong; -want +got:\n%s", wrong, diff)
	}
}

func TestMissingProgramsAreNamedWithAHint(t *testing.T) {
	err := withHint(&vm.MissingError{What: "qemu is not installed", Hint: "install it"})
	if err.Error() != "qemu is not installed; install it" {
		t.Errorf("got %v", err)
	}
}
