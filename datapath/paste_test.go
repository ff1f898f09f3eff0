package datapath_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
)

// pasteTries are what ip(8) can do where a user namespace has a feature.
var pasteTries = map[feature.Feature]string{
	feature.IPIP:           "link add try0 type ipip local 192.0.2.1 remote 192.0.2.2",
	feature.Tun:            "tuntap add dev try0 mode tun",
	feature.WireGuardOrTun: "link add try0 type wireguard", // the text is that of the kernel's
	feature.ESP: "xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 1 mode tunnel aead rfc4106(gcm(aes)) " +
		plan.ESPKey{}.String() + " 128",
}

// The text of a plan, pasted into a shell, builds the lab; iptables-save then prints
// every rule as the plan predicts.
func TestThePlansTextBuildsTheLab(t *testing.T) {
	debian.Require(t, "unshare", "ip", "bridge", "sysctl", "iptables-restore", "ip6tables-restore", "nfacct")
	for _, l := range labs {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			p := compile(t, l.spec)
			if slices.Contains(plan.Requires(p), feature.IPVS) {
				t.Skip("ip_vs is not available in a user namespace; the suite reads such labs back as root")
			}
			for feature, try := range pasteTries {
				if slices.Contains(plan.Requires(p), feature) && exec.Command("unshare", append([]string{"-rn", "ip"}, strings.Fields(try)...)...).Run() != nil {
					t.Skipf("this machine lacks %s", feature)
				}
			}
			got := paste(t, string(p.Text())+saveCommands(p))
			want := savedRules(p)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// paste runs a script and returns the rules among the lines that it prints.
func paste(t *testing.T, script string) []string {
	t.Helper()
	var rules []string
	for _, line := range pasteLines(t, script) {
		if strings.Contains(line, " -A ") {
			rules = append(rules, line)
		}
	}
	return rules
}

// pasteLines runs a script where it can name network namespaces without leaving a
// trace, and returns the lines that it prints. Any output on stderr is a failure.
func pasteLines(t *testing.T, script string) []string {
	t.Helper()
	setup := "set -e\nmount -t tmpfs tmpfs /run\n"
	if out, err := exec.Command("unshare", "-rnm", "sh", "-c", setup+"mkdir /run/netns").CombinedOutput(); err != nil {
		t.Skipf("user and mount namespaces are not available: %v: %s", err, out)
	}
	cmd := exec.Command("unshare", "-rnm", "sh")
	cmd.Stdin = strings.NewReader(setup + script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// saveCommands prints the rules of every namespace as "netns family table -A rule".
func saveCommands(p *plan.Plan) string {
	var b strings.Builder
	for _, n := range p.Netns {
		for _, t := range n.Tables {
			tool := "iptables"
			if t.IPv6 {
				tool = "ip6tables"
			}
			fmt.Fprintf(&b, "ip netns exec %s %s-save -t %s | sed -n 's/^-A/%s %s %s -A/p'\n", n.Name, tool, t.Name, n.Name, tool, t.Name)
		}
	}
	return b.String()
}

func savedRules(p *plan.Plan) []string {
	var rules []string
	for _, n := range p.Netns {
		for _, t := range n.Tables {
			tool := "iptables"
			if t.IPv6 {
				tool = "ip6tables"
			}
			for _, c := range t.Chains {
				for _, r := range c.Rules {
					rules = append(rules, fmt.Sprintf("%s %s %s -A %s %s", n.Name, tool, t.Name, c.Name, r.Save()))
				}
			}
		}
	}
	return rules
}
