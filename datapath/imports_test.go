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

// importRow lists what a package may import, of ours and from third parties. Patterns
// are those of path.Match; a trailing /... stands for all packages below.
type importRow struct {
	pkg   string
	ours  []string
	third []string
	why   string // why nothing else
}

// importTable is printed into ARCHITECTURE.md. The first row that matches counts.
var importTable = []importRow{
	{"topology", nil, nil, "what a lab is must not depend on how it is written, built or shown"},
	{"topology/ipam", []string{"topology"}, nil, "a pool does not know what its addresses are for"},
	{"topology/resolve", []string{"topology", "topology/ipam", "topology/resolve/*"}, nil, "what a lab is must not depend on how it is written, built or shown"},
	{"topology/resolve/draft", []string{"topology", "topology/ipam"}, nil, "a draft records what is decided; it decides nothing"},
	{"topology/resolve/*", []string{"topology", "topology/ipam", "topology/resolve/draft"}, nil, "services and policies do not know each other: what they share is in draft"},
	{"topology/meaning", []string{"topology", "datapath/flow"}, nil, "what Kubernetes promises does not depend on any implementation: facts come as data"},
	{"topology/dns", []string{"topology", "datapath/plan/zone", "datapath/plan/origin"}, nil, "names follow from the lab, whoever serves them"},
	{"topology/kubernetes", []string{"topology"}, []string{"go.yaml.in/yaml/v3"}, "manifests and YAML stay at this border"},
	{"datapath/plan", []string{"datapath/plan/*"}, nil, "a plan is a value: it knows neither scenarios nor the kernel"},
	{"datapath/plan/origin", nil, nil, "every package may know where something is declared"},
	{"datapath/plan/felix", []string{"datapath/plan/iptables"}, nil, "what an agent calls its rules depends on the rules alone"},
	{"datapath/plan/coder", []string{"datapath/plan/origin"}, nil, "how values are encoded does not depend on which"},
	{"datapath/plan/ordered", nil, nil, "how lists are compared does not depend on what is in them"},
	{"datapath/plan/shell", nil, nil, "every package that prints a command may ask how a word is quoted"},
	{"datapath/plan/*", []string{"datapath/plan/coder", "datapath/plan/ordered", "datapath/plan/origin", "datapath/plan/shell"}, nil, "a vocabulary knows neither the others nor plans"},
	{"datapath/flow", nil, nil, "prediction and observation share words, nothing else"},
	{"datapath/walk", []string{"datapath/plan/...", "datapath/flow", "datapath/walk/network", "datapath/walk/memory", "datapath/walk/request", "datapath/walk/trace"}, nil, "the walker judges the rules, so it must not know what they were meant to do"},
	{"datapath/walk/network", []string{"datapath/plan/..."}, nil, "where things are does not depend on what packets do"},
	{"datapath/walk/request", []string{"datapath/plan/httproute", "datapath/plan/occupant", "datapath/flow"}, nil, "what a request says does not depend on the way that it takes"},
	{"datapath/walk/memory", nil, nil, "what is remembered does not depend on which rules remember it"},
	{"datapath/walk/trace", []string{"datapath/plan", "datapath/flow", "datapath/walk/memory"}, nil, "a prediction is a value: how it came about is not in it"},
	{"datapath/walk/render", []string{"datapath/walk/trace", "datapath/flow"}, nil, "a rendering shows what the walk found"},
	{"datapath/podnet", []string{"topology", "datapath/plan/..."}, nil, "a pod network returns data; it cannot touch the kernel"},
	{"datapath/podnet/*", []string{"topology", "datapath/plan/...", "datapath/podnet"}, nil, "modes do not know each other: what they share is in podnet"},
	{"datapath/service", []string{"topology", "datapath/plan/..."}, nil, "a backend returns data; it cannot touch the kernel"},
	{"datapath/service/servicetest", []string{"topology/...", "datapath/..."}, nil, "conformance is tested on plans, not on scenarios"},
	{"datapath/service/*", []string{"topology", "datapath/plan/...", "datapath/service"}, nil, "backends do not know each other: what they share is in service"},
	{"datapath/policy", []string{"topology", "datapath/plan/..."}, nil, "a policy style returns data; it cannot touch the kernel"},
	{"datapath/policy/policytest", []string{"topology/...", "datapath/..."}, nil, "conformance is tested on plans, not on scenarios"},
	{"datapath/policy/*", []string{"topology", "datapath/plan/...", "datapath/policy"}, nil, "styles do not know each other: what they share is in policy"},
	{"datapath/fault", []string{"topology", "datapath/plan/...", "datapath/podnet"}, nil, "a fault turns one plan into another: what breaks it must not depend on the kernel"},
	{"datapath", []string{"topology", "topology/dns", "datapath/plan/...", "datapath/fault", "datapath/podnet/...", "datapath/service/...", "datapath/policy/..."}, nil, "compiling is pure: every machine compiles the same plan"},
	{"datapath/agents/userspace", nil, []string{"golang.org/x/net/..."}, "a proxy passes connections on; it does not know which services they are for"},
	{"datapath/agents/kubeapi", nil, []string{"golang.org/x/net/..."}, "a server hands out objects; it does not know what they mean, or of which lab"},
	{"datapath/agents/udptunnel", nil, []string{"golang.org/x/net/...", "golang.org/x/sys/...", "golang.zx2c4.com/wireguard/replay"}, "a tunnel carries packets; it does not know who has which pods, or why"},
	{"datapath/agents/nameserver", []string{"datapath/plan/zone"}, []string{"github.com/miekg/dns"}, "a name server answers from records; it does not know what they are about"},
	{"datapath/agents/ingress", []string{"datapath/plan/httproute"}, []string{"golang.org/x/net/...", "github.com/pires/go-proxyproto"}, "a controller passes requests on by routes; it does not know what they are part of"},
	{"datapath/agents/bgp", []string{"datapath/plan/bgp"}, []string{"github.com/osrg/gobgp/v4/pkg/packet/..."}, "a speaker exchanges paths; it does not know whose pods they lead to"},
	{"datapath/agents/wireguard", nil, []string{"golang.org/x/sys/...", "golang.zx2c4.com/wireguard/..."}, "a tunnel carries packets; it does not know who has which pods, or why"},
	{"datapath/netns", nil, []string{"github.com/vishvananda/netns", "golang.org/x/sys/..."}, "the only package that locks threads stays small"},
	{"datapath/debian", nil, nil, "every package that runs a program may ask which Debian package has it"},
	{"datapath/kernel", []string{"datapath/plan/...", "datapath/netns", "datapath/kernel/*"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/...", "golang.org/x/sync/..."}, "the kernel is told what to do, not why"},
	{"datapath/kernel/features", []string{"datapath/plan/...", "datapath/netns", "datapath/debian", "datapath/kernel/*"}, []string{"github.com/vishvananda/netlink/...", "github.com/coreos/go-iptables/...", "golang.org/x/sys/..."},
		"a feature is tried by the means that use it, without a lab"},
	{"datapath/kernel/socket", nil, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "netlink works the same, whatever it carries"},
	{"datapath/kernel/deviations", []string{"datapath/plan/...", "datapath/kernel/socket"}, []string{"golang.org/x/sys/..."}, "who reads a kind of kernel state notes its deviations"},
	{"datapath/kernel/settings", []string{"datapath/plan/...", "datapath/kernel/deviations", "datapath/kernel/procfs"}, []string{"golang.org/x/sys/..."}, "a setting is judged by its number or name, however it was read"},
	{"datapath/kernel/links", []string{"datapath/plan/...", "datapath/kernel/socket", "datapath/kernel/deviations", "datapath/kernel/settings"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "links are there before what is on them"},
	{"datapath/kernel/routing", []string{"datapath/plan/...", "datapath/kernel/socket", "datapath/kernel/deviations", "datapath/kernel/links"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "addresses and routes are on links, and know nothing beside them"},
	{"datapath/kernel/neighbours", []string{"datapath/plan/...", "datapath/kernel/socket", "datapath/kernel/deviations", "datapath/kernel/links"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "neighbours are on links, and know nothing beside them"},
	{"datapath/kernel/xtables", []string{"datapath/plan/...", "datapath/netns", "datapath/debian", "datapath/kernel/deviations", "datapath/kernel/procfs"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."},
		"rules are restored and saved, whatever they are for"},
	{"datapath/kernel/xfrm", []string{"datapath/plan/...", "datapath/kernel/socket", "datapath/kernel/deviations"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "IPsec is made and read back, whichever traffic it protects"},
	{"datapath/kernel/conntrack", []string{"datapath/plan/...", "datapath/kernel/sets", "datapath/flow"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "which connections end follows from the plan, not from the rules; which there are is said in the words of flows"},
	{"datapath/kernel/qdiscs", []string{"datapath/plan/...", "datapath/kernel/socket"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "a link is shaped by its index, whatever kind it is"},
	{"datapath/kernel/wireguard", []string{"datapath/plan/..."}, []string{"golang.zx2c4.com/wireguard/wgctrl/..."}, "the kernel is told what to do, not why"},
	{"datapath/kernel/virtual", []string{"datapath/plan/...", "datapath/kernel/*"}, []string{"github.com/vishvananda/netlink/...", "github.com/moby/ipvs/...", "golang.org/x/sys/..."}, "the kernel is told what to do, not why"},
	{"datapath/kernel/*", []string{"datapath/plan/...", "datapath/kernel/socket"}, []string{"github.com/vishvananda/netlink/...", "golang.org/x/sys/..."}, "the kernel is told what to do, not why"},
	{"datapath/probe", []string{"datapath/netns", "datapath/flow"}, []string{"golang.org/x/sys/...", "github.com/pires/go-proxyproto"}, "a probe sees packets, not intent"},
	{"datapath/cell", []string{"datapath/plan/occupant"}, []string{"golang.org/x/sys/...", "golang.org/x/net/bpf", "github.com/moby/sys/capability", "github.com/elastic/go-seccomp-bpf/..."}, "what confines a program is read by those who do not trust it"},
	{"datapath/image", nil, []string{"github.com/google/go-containerregistry/pkg/v1/...", "github.com/cyphar/filepath-securejoin"}, "an image is files; it does not know who uses them"},
	{"datapath/image/imagetest", nil, []string{"github.com/google/go-containerregistry/pkg/v1/..."}, "an image for tests is written by the library that others write theirs with"},
	{"datapath/capture", []string{"datapath/netns", "datapath/flow"}, []string{"golang.org/x/sys/...", "github.com/gopacket/gopacket/..."}, "a capture sees packets, not what they are for; the decoder of others stays here"},
	{"datapath/engine", []string{"datapath/plan/...", "datapath/netns", "datapath/cell", "datapath/capture", "datapath/kernel", "datapath/kernel/conntrack", "datapath/kernel/features", "datapath/flow", "datapath/engine/inside"}, []string{"golang.org/x/sys/..."},
		"a running lab outlives its scenario: it is described by its plan"},
	{"datapath/engine/inside", []string{"datapath/plan/...", "datapath/netns", "datapath/cell", "datapath/image", "datapath/kernel", "datapath/probe", "datapath/flow", "datapath/debian", "datapath/agents/*"}, []string{"golang.org/x/sys/...", "golang.org/x/sync/..."},
		"what runs in a lab does not know who asked for it"},
	{"datapath/vm", []string{"datapath/debian"}, []string{"golang.org/x/sys/...", "github.com/creack/pty"}, "a virtual machine runs commands without knowing what they do"},
	{"reports/visible", nil, nil, "whoever prints a text of somebody else may use it"},
	{"reports", []string{"datapath/flow", "reports/visible"}, nil, "a report shows results without knowing their source"},
	{"datapath/bench", []string{"topology", "topology/resolve", "datapath", "datapath/plan/...", "datapath/flow", "datapath/walk/...", "datapath/engine"}, []string{"golang.org/x/sys/unix"}, "a measurement uses what users use; its floor uses nothing"},
	{"scenarios/expect/state", []string{"topology", "datapath/flow"}, nil, "a claim about a host knows views of it, not what brought them"},
	{"scenarios/expect", []string{"topology", "datapath/flow", "scenarios/expect/state"}, nil, "an expectation knows its claim, not how it is written, built, dialed or predicted"},
	{"scenarios/expect/trial", []string{"datapath/flow", "datapath/walk", "datapath/walk/trace", "reports", "scenarios/expect", "scenarios/expect/state"}, nil, "a trial knows flows and their results, not which lab they are in"},
	{"scenarios/suite", []string{"topology/...", "datapath/...", "scenarios/language/...", "scenarios/expect/...", "reports"}, []string{"github.com/onsi/ginkgo/..."}, "the suite drives labs as the command does, but is not a command"},
	{"scenarios/reference", []string{"datapath", "scenarios", "scenarios/language/..."}, []string{"github.com/hashicorp/hcl/v2/..."}, "a reference describes what is read; it reads nothing"},
	{"scenarios/articles", []string{"scenarios", "scenarios/index"}, nil, "a list of claims does not judge them: expectations do"},
	{"scenarios/index", []string{"datapath", "datapath/plan/...", "scenarios", "scenarios/language"}, nil, "an index only lists"},
	{"scenarios", nil, nil, "the labs that ship are files; scenarios does not know who reads them"},
	{"scenarios/language/source", []string{"topology", "reports/visible"}, []string{"github.com/hashicorp/hcl/v2/..."}, "text is read before it means anything"},
	{"scenarios/language/functions", []string{"scenarios/language/source"}, []string{"github.com/hashicorp/hcl/v2/...", "github.com/zclconf/..."}, "expressions compute; they do not know labs"},
	{"scenarios/language/blocks", []string{"topology", "scenarios/language/source", "scenarios/language/functions"},
		[]string{"github.com/hashicorp/hcl/v2/...", "github.com/zclconf/..."}, "how blocks are read does not depend on which"},
	{"scenarios/language/names", []string{"topology", "topology/dns", "datapath/plan/zone", "datapath/flow", "scenarios/expect"}, nil, "what a name means in a lab does not depend on who wrote it where"},
	{"scenarios/language/claims", []string{"topology", "datapath/flow", "scenarios/expect", "scenarios/expect/state", "scenarios/language/source", "scenarios/language/functions", "scenarios/language/blocks", "scenarios/language/names"},
		[]string{"github.com/hashicorp/hcl/v2/...", "github.com/zclconf/..."}, "claims are about a lab that is resolved, however it was written"},
	{"scenarios/language/printer", []string{"topology"}, []string{"github.com/hashicorp/hcl/v2/...", "github.com/zclconf/..."}, "a lab is written as text without knowing where it comes from"},
	{"scenarios/language", []string{"topology", "topology/resolve", "topology/dns", "topology/kubernetes", "datapath/image", "scenarios/expect", "scenarios/language/*"},
		[]string{"github.com/hashicorp/hcl/v2/...", "github.com/zclconf/..."}, "loading a scenario needs no plan and no kernel"},
	{"cmd/...", []string{"..."}, []string{"..."}, ""},
}

func TestPackagesImportWhatTheTableAllows(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		row := rowOf(name)
		if row == nil {
			t.Errorf("%s: not in the import table: add what it may import, and why nothing else", name)
			continue
		}
		for _, imported := range p.Imports {
			if why := row.forbids(imported); why != "" {
				t.Errorf("%s imports %s: %s", name, imported, why)
			}
		}
	}
}

// A newcomer who opens a folder sees what is in it: where there is more, a part of it is a package.
func TestPackagesAreSmall(t *testing.T) {
	const most = 20
	for _, p := range listPackages(t) {
		files := slices.DeleteFunc(slices.Concat(p.GoFiles, p.IgnoredGoFiles), func(f string) bool { return strings.HasSuffix(f, "_test.go") })
		if len(files) > most {
			t.Errorf("%s has %d files, and %d are the most: find a part of it that can be a package below it", p.ImportPath, len(files), most)
		}
	}
}

func TestTheImportTableIsDocumented(t *testing.T) {
	words := func(list []string, none string) string {
		if len(list) == 0 {
			return none
		}
		var short []string
		for _, name := range list {
			for _, prefix := range []string{"github.com/", "golang.org/"} {
				name = strings.TrimPrefix(name, prefix)
			}
			short = append(short, strings.NewReplacer("/...", "/…", "...", "all", "*", `\*`).Replace(name))
		}
		return strings.Join(short, ", ")
	}
	text := "| package | of ours | of others | why nothing else |\n|---|---|---|---|\n"
	for _, r := range importTable {
		text += "| " + words([]string{r.pkg}, "") + " | " + words(r.ours, "nothing") + " | " + words(r.third, "none") + " | " + r.why + " |\n"
	}
	documented(t, "imports", text)
}

func TestImportTableForbids(t *testing.T) {
	for _, row := range []struct {
		pkg, imported string
		forbidden     bool
	}{
		{"topology", "net/netip", false},
		{"topology", module + "datapath/plan", true},
		{"topology", "github.com/hashicorp/hcl/v2", true},
		{"topology/meaning", module + "datapath", true},
		{"datapath/podnet/vxlan", module + "topology/meaning", true},
		{"datapath/walk", module + "topology", true},
		{"datapath/podnet/vxlan", module + "datapath/podnet", false},
		{"datapath/podnet/vxlan", module + "datapath/podnet/hostgw", true},
		{"datapath/service/iptables", module + "datapath/podnet", true},
		{"datapath", module + "datapath/podnet/vxlan", false},
		{"datapath", module + "datapath/kernel", true},
		{"datapath/kernel", "github.com/vishvananda/netlink/nl", false},
		{"scenarios/language", module + "datapath/kernel", true},
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

// forbids returns why the row's package may not import another, or "".
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
	ImportPath     string
	Imports        []string
	GoFiles        []string // for this system
	IgnoredGoFiles []string // for others, with their tests
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,GoFiles,IgnoredGoFiles", module+"...").Output()
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
