package datapath_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
)

// edits change the first lab step by step, each one more line that a user edits in the
// file.
var edits = []struct {
	name string
	edit func(*topology.Spec)
}{
	{"another pod", func(s *topology.Spec) { s.Pods = append(s.Pods, pod("web", 1, "node2")) }},
	{"another policy", func(s *topology.Spec) { s.Services[0].ExternalTrafficPolicy = set("Cluster") }},
	{"another mode", func(s *topology.Spec) { s.Network.Mode = set("host-gw") }},
	{"another node", func(s *topology.Spec) { s.Nodes = nodes("node1", "node2", "node3") }},
	{"a pod on another node", func(s *topology.Spec) { s.Pods[1].Node = set("node3") }},
	{"back to the tunnel, with another port", func(s *topology.Spec) { s.Network.Mode, s.Network.VXLAN.Port = set("vxlan"), set(4789) }},
	{"another tunnel port", func(s *topology.Spec) { s.Network.VXLAN.Port = set(8472) }},
	{"no bridge", func(s *topology.Spec) { s.Network.Mode = set("routed") }},
	{"another pod without a bridge", func(s *topology.Spec) { s.Pods = append(s.Pods, pod("web", 2, "node1")) }},
	{"a bridge again", func(s *topology.Spec) { s.Network.Mode = set("vxlan") }},
	{"direct routes", func(s *topology.Spec) { s.Network.VXLAN.DirectRouting = set(true) }},
	{"a smaller underlay", func(s *topology.Spec) { s.Network.MTU = set(1400) }},
	{"a static route", func(s *topology.Spec) {
		s.Nodes[0].Routes = []topology.RouteSpec{{To: netip.MustParsePrefix("10.244.2.0/24"), Via: netip.MustParseAddr("192.168.0.13"), Origin: at(60)}}
	}},
	{"no services", func(s *topology.Spec) { s.Proxy.Mode = set("none") }},
	{"fewer pods, no client", func(s *topology.Spec) { s.Pods, s.Clients = s.Pods[:1], nil }},
}

// Pasting the changes from one plan to the next leads to the same kernel state as
// pasting the whole next plan.
func TestChangesLeadFromOneLabToTheNext(t *testing.T) {
	debian.Require(t, "unshare")
	spec := labs[0].spec
	spec.Nodes, spec.Pods, spec.Services = nodes("node1", "node2"), append([]topology.PodSpec{}, spec.Pods...), append([]topology.ServiceSpec{}, spec.Services...)
	have := compile(t, spec)
	script := string(have.Text())
	plans := make([]*plan.Plan, 0, len(edits))
	lines := make([]string, 0, len(edits))
	for _, e := range edits {
		e.edit(&spec)
		want := compile(t, spec)
		changes := plan.Diff(have, want)
		if changes.Empty() {
			t.Fatalf("%s: changes nothing", e.name)
		}
		lines = append(lines, strings.Join(changes.Lines(), "\n")+"\n")
		plans = append(plans, want)
		script += lines[len(lines)-1] + awaitGone(lines[len(lines)-1]) + dumpCommands(want)
		have = want
	}
	steps := dumps(t, script)
	if len(steps) != len(edits) {
		t.Fatalf("%d dumps for %d edits", len(steps), len(edits))
	}
	for i, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			fresh := dumps(t, string(plans[i].Text())+dumpCommands(plans[i]))
			if d := cmp.Diff(fresh[0], steps[i]); d != "" {
				t.Errorf("-from scratch +step by step:\n%s\nthis step:\n%s", d, lines[i])
			}
		})
	}
}

var alsoRemoved = regexp.MustCompile(`(?m)^# also removed: (\S+) in (\S+)$`)

// awaitGone waits for the links that disappear with namespaces: the kernel removes them
// a little later.
func awaitGone(lines string) string {
	var b strings.Builder
	for _, end := range alsoRemoved.FindAllStringSubmatch(lines, -1) {
		fmt.Fprintf(&b, "while ip -n %s link show dev %s >/dev/null 2>&1; do sleep 0.01; done\n", end[2], end[1])
	}
	return b.String()
}

// dumpEnd is the line after each dump.
const dumpEnd = "END OF DUMP"

// notPlanned removes what plans do not cover: the index of a link's peer, and whether a
// bridge has already detected the carrier of a port.
const notPlanned = ` | sed -E 's/@if[0-9]+//; s/ +(UP|DOWN|UNKNOWN) +/ /; s/<.*>//; s/ linkdown//'`

// dumpCommands prints what is in the namespaces of a plan: the names, MTUs, MACs and
// bridges of links; addresses, routes, neighbours, tunnel entries and rules.
func dumpCommands(p *plan.Plan) string {
	var b strings.Builder
	b.WriteString("ip netns list | sed 's/ .*//' | sort\n")
	for _, n := range p.Netns {
		for _, show := range []string{
			"ip -n %s -br link",
			"ip -n %s -d link | grep -o 'mtu [0-9]*\\|master [^ ]*\\|vxlan id.*dstport [0-9]*\\|hairpin o[nf]*'",
			"ip -n %s -br -4 addr",
			"ip -n %s route",
			"ip -n %s neigh show nud permanent",
			"bridge -n %s fdb | { grep dst || true; }",
			"ip netns exec %s iptables-save | { grep '^[-:]' || true; } | { grep -v '^:.* ACCEPT' || true; } | sed 's/ \\[.*//'",
		} {
			fmt.Fprintf(&b, show+notPlanned+" | sort\n", n.Name)
		}
	}
	return b.String() + "echo " + dumpEnd + "\n"
}

// dumps runs a script and returns its dumps.
func dumps(t *testing.T, script string) []string {
	t.Helper()
	list := strings.Split(strings.Join(pasteLines(t, script), "\n")+"\n", dumpEnd+"\n")
	return list[:len(list)-1]
}
