package datapath_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/netlab/netlab/"

// importRow says what a package may import of ours and of others. Patterns are
// those of path.Match; a trailing /... stands for all packages below.
type importRow struct {
	pkg   string
	ours  []string
	third []string
	why   string // why nothing else
}

// importTable is the table of ARCHITECTURE.md. The first row that matches counts.
var importTable = []importRow{
	{"topology", nil, nil, "what a lab is must not depend on how it is written, built or shown"},
	{"topology/kubernetes", []string{"topology"}, []string{"k8s.io/...", "sigs.k8s.io/..."}, "Kubernetes' own structs stay at this border"},
	{"datapath/plan", nil, nil, "a plan is a value: it knows neither scenarios nor the kernel"},
	{"datapath/flow", nil, nil, "prediction and observation share words, nothing else"},
	{"datapath/walk", []string{"datapath/plan", "datapath/flow"}, nil, "the walker judges the rules, so it must not know what they were meant to do"},
	{"datapath/podnet", []string{"topology", "datapath/plan"}, nil, "a pod network returns data; it cannot touch the kernel"},
	{"datapath/podnet/*", []string{"topology", "datapath/plan", "datapath/podnet"}, nil, "modes do not know each other: what they share is in podnet"},
	{"datapath/service", []string{"topology", "datapath/plan"}, nil, "a backend returns data; it cannot touch the kernel"},
	{"datapath/service/servicetest", []string{"topology", "datapath/..."}, nil, "the exam runs plans, it does not read scenarios"},
	{"datapath/service/*", []string{"topology", "datapath/plan", "datapath/service"}, nil, "backends do not know each other: what they share is in service"},
	{"datapath/policy", []string{"topology", "datapath/plan"}, nil, "a policy style returns data; it cannot touch the kernel"},
	{"datapath/policy/policytest", []string{"topology", "datapath/..."}, nil, "the exam runs plans, it does not read scenarios"},
	{"datapath/policy/*", []string{"topology", "datapath/plan", "datapath/policy"}, nil, "styles do not know each other: what they share is in policy"},
	{"datapath", []string{"topology", "datapath/plan", "datapath/podnet/...", "datapath/service/...", "datapath/policy/..."}, nil, "compiling is pure: every machine compiles the same plan"},
	{"datapath/netns", nil, []string{"github.com/vishvananda/netns", "golang.org/x/sys/..."}, "the only place that locks threads stays small"},
	{"datapath/kernel", []string{"datapath/plan", "datapath/netns"}, []string{"github.com/vishvananda/netlink/...", "github.com/coreos/go-iptables/...", "github.com/moby/ipvs/...",
		"golang.org/x/sys/...", "golang.org/x/sync/..."}, "the kernel is told what to do, not why"},
	{"datapath/kernel/*", []string{"datapath/plan", "datapath/netns", "datapath/kernel"}, nil, "the kernel is told what to do, not why"},
	{"datapath/probe", []string{"datapath/netns", "datapath/flow"}, []string{"golang.org/x/sys/..."}, "a probe sees packets, not intentions"},
	{"datapath/engine", []string{"datapath/plan", "datapath/netns", "datapath/kernel", "datapath/probe", "datapath/flow"}, []string{"golang.org/x/sys/...", "golang.org/x/sync/...", "github.com/creack/pty"},
		"a running lab outlives its scenario: it is described by its plan"},
	{"datapath/vm", nil, []string{"golang.org/x/sys/...", "github.com/creack/pty"}, "a virtual machine runs commands, whatever they do"},
	{"reports", []string{"datapath/flow"}, nil, "a report shows results, wherever they come from"},
	{"datapath/bench", []string{"topology", "datapath", "datapath/plan", "datapath/flow", "datapath/walk", "datapath/engine"}, []string{"golang.org/x/sys/unix"}, "a measurement uses what users use; its floor uses nothing"},
	{"scenarios/expect", []string{"topology", "datapath/flow", "datapath/walk", "reports"}, nil, "an expectation says what it wants, not how it is written, built or dialed"},
	{"scenarios/suite", []string{"topology", "datapath/...", "scenarios", "scenarios/expect", "reports"}, []string{"github.com/onsi/ginkgo/..."}, "the suite drives labs as the command does, but is no command"},
	{"scenarios", []string{"topology", "datapath/flow", "scenarios/expect"},
		[]string{"github.com/hashicorp/hcl/v2/...", "github.com/zclconf/..."}, "loading a scenario needs no plan and no kernel"},
	{"cmd/...", []string{"..."}, []string{"..."}, ""},
}

func TestPackagesImportWhatTheTableAllows(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages only", len(packages))
	}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		row := rowOf(name)
		if row == nil {
			t.Errorf("%s: not in the import table: say there what it may import, and why nothing else", name)
			continue
		}
		for _, imported := range p.Imports {
			if why := row.forbids(imported); why != "" {
				t.Errorf("%s imports %s: %s", name, imported, why)
			}
		}
	}
}

func TestImportTableForbids(t *testing.T) {
	for _, row := range []struct {
		pkg, imported string
		forbidden     bool
	}{
		{"topology", "net/netip", false},
		{"topology", module + "datapath/plan", true},
		{"topology", "github.com/hashicorp/hcl/v2", true},
		{"datapath/walk", module + "topology", true},
		{"datapath/podnet/vxlan", module + "datapath/podnet", false},
		{"datapath/podnet/vxlan", module + "datapath/podnet/hostgw", true},
		{"datapath/service/iptables", module + "datapath/podnet", true},
		{"datapath", module + "datapath/podnet/vxlan", false},
		{"datapath", module + "datapath/kernel", true},
		{"datapath/kernel", "github.com/vishvananda/netlink/nl", false},
		{"scenarios", module + "datapath/kernel", true},
		{"cmd/netlab", module + "datapath/kernel", false},
		{"cmd/netlab", "github.com/spf13/cobra", false},
	} {
		if got := rowOf(row.pkg).forbids(row.imported) != ""; got != row.forbidden {
			t.Errorf("%s imports %s: forbidden %v, want %v", row.pkg, row.imported, got, row.forbidden)
		}
	}
}

func rowOf(pkg string) *importRow {
	for i := range importTable {
		if matches(importTable[i].pkg, pkg) {
			return &importTable[i]
		}
	}
	return nil
}

// forbids returns why the row's package may not import another, or nothing.
func (r *importRow) forbids(imported string) string {
	list := r.third
	name, ours := strings.CutPrefix(imported, module)
	switch host, _, _ := strings.Cut(imported, "/"); {
	case ours:
		list = r.ours
	case !strings.Contains(host, "."):
		return "" // standard library
	}
	if slices.ContainsFunc(list, func(pattern string) bool { return matches(pattern, name) }) {
		return ""
	}
	return r.why
}

func matches(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == root || strings.HasPrefix(name, root+"/")
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}
