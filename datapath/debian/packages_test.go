package debian

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// A program comes from one package, and the message names it: ping is not in iptables.
func TestMissingProgramsAreNamedWithTheirPackage(t *testing.T) {
	seen := map[string]string{}
	for pkg, programs := range packages {
		for _, p := range programs {
			if other := seen[p]; other != "" {
				t.Errorf("%s is in %s and in %s", p, other, pkg)
			}
			seen[p] = pkg
		}
	}
	for program, want := range map[string]string{
		"ping":  "ping is not installed; on Debian: apt-get install iputils-ping",
		"mount": "mount is not installed; on Debian: apt-get install mount",
		"tc":    "tc is not installed; on Debian: apt-get install iproute2",
		"dog":   "dog is not installed",
	} {
		if got := NotInstalled(program); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// provisioned are the pairs PROGRAM:PACKAGE of .ci/provision.
func provisioned(t *testing.T) map[string]string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, ".ci/provision"))
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(script), "\\\n", " ")) {
		_, list, found := strings.Cut(line, "$(missing ")
		list, _, _ = strings.Cut(list, ")")
		for _, pair := range strings.Fields(list) {
			if program, pkg, ok := strings.Cut(pair, ":"); found && ok {
				pairs[program] = pkg
			}
		}
	}
	return pairs
}

func TestProvisionInstallsThePackagesOfTheTable(t *testing.T) {
	pairs := provisioned(t)
	if len(pairs) < 15 {
		t.Fatalf("only %d pairs were found: %v", len(pairs), pairs)
	}
	for program, pkg := range pairs {
		if !strings.Contains(program, "/") && Package(program) != pkg {
			t.Errorf(".ci/provision installs %s for %s, the table says %q", pkg, program, Package(program))
		}
	}
}

// minimal are packages that every Debian has.
var minimal = []string{"apt", "bash", "coreutils", "dash", "diffutils", "dpkg", "findutils", "grep", "libc-bin", "mawk", "mount", "sed", "tar", "util-linux"}

// started finds the programs that Go code starts or requires by a literal name.
var started = regexp.MustCompile(`(?:exec\.Command\(|exec\.CommandContext\(\w+(?:\.Context\(\))?, |LookPath\(|findProgram\(|output\(t, k, "[^"]*", )"([a-z0-9-]+)"|debian\.Require\(t((?:, "[a-z0-9-]+")+)\)`)

// Every program that this repository starts is in the table, and .ci/provision installs
// those that are not part of every Debian.
func TestEveryProgramThatIsStartedCanBeInstalled(t *testing.T) {
	installed := map[string]bool{}
	for _, pkg := range provisioned(t) {
		installed[pkg] = true
	}
	ours := []string{"go", "netlab", "iptables-legacy-restore"}
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range started.FindAllStringSubmatch(string(text), -1) {
			for _, program := range append(regexp.MustCompile(`[a-z0-9-]+`).FindAllString(m[2], -1), m[1]) {
				if program == "" || slices.Contains(ours, program) {
					continue
				}
				found[program] = true
				switch pkg := Package(program); {
				case pkg == "":
					t.Errorf("%s starts %s, which is not in the table", path, program)
				case !slices.Contains(minimal, pkg) && !installed[pkg]:
					t.Errorf("%s starts %s, which .ci/provision does not install", path, program)
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"ping", "unshare", "ipvsadm", "modprobe", "tc"} {
		if !found[program] {
			t.Errorf("nothing starts %s: the test looks for the wrong calls", program)
		}
	}
}
