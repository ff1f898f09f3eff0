//go:build linux

package kernel

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
)

// What is not in the plan is drift, in every kind of namespace, and an Apply removes it.
// What the kernel makes by itself is not.
func TestForeignObjectsAreDrift(t *testing.T) {
	for name, test := range map[string]struct {
		netns, damage string
		drift         []string // nil: none
	}{
		"nothing":                 {"node.n1", "true", nil},
		"a qdisc on a veth":       {"pod.a", "tc qdisc add dev eth0 root pfifo limit 1", []string{"pod.a: qdisc dev eth0 root pfifo not in the plan"}},
		"classes":                 {"node.n1", "tc qdisc add dev va root handle 1: htb default 1; tc class add dev va parent 1: classid 1:1 htb rate 1mbit; tc qdisc add dev va parent 1:1 pfifo limit 2", []string{"node.n1: qdisc dev va root htb not in the plan"}},
		"a rate":                  {"underlay", "tc qdisc add dev n1 root tbf rate 1mbit burst 10kb latency 10ms", []string{"underlay: qdisc dev n1 root handle 1: tbf rate 1000000bit burst 3200b limit 9450b not in the plan"}},
		"a qdisc on lo":           {"pod.a", "tc qdisc add dev lo root pfifo limit 1", []string{"pod.a: qdisc dev lo root pfifo not in the plan"}},
		"filters of arrivals":     {"node.n2", "tc qdisc add dev eth0 clsact", []string{"node.n2: qdisc dev eth0 clsact not in the plan"}},
		"ingress beside a qdisc":  {"pod.a", "tc qdisc add dev eth0 ingress; tc qdisc add dev eth0 root bfifo", []string{"pod.a: qdisc dev eth0 root bfifo not in the plan", "pod.a: qdisc dev eth0 ingress not in the plan"}},
		"the default, explicitly": {"pod.a", "tc qdisc add dev eth0 root noqueue", nil},
		"a bridge that is up":     {"node.n1", "ip link add foreign type bridge; ip link set foreign up", []string{"node.n1: link foreign not in the plan"}},
		"a bridge that is down":   {"pod.a", "ip link add foreign type bridge", []string{"pod.a: link foreign not in the plan"}},
		"a pair":                  {"underlay", "ip link add foreign type veth peer name other; ip address add 192.0.2.1/24 dev other", []string{"underlay: link foreign not in the plan", "underlay: link other not in the plan", "underlay: address 192.0.2.1/24 dev other not in the plan"}},
		"a table of nf_tables":    {"pod.a", "nft 'table inet foreign { chain c { type filter hook input priority 0; tcp dport 80 drop; }; }'", []string{"pod.a: table inet foreign not in the plan"}},
		"a table on a node":       {"node.n1", "nft add table ip foreign", []string{"node.n1: table ip foreign not in the plan"}},
		"a table of a device":     {"node.n2", "nft 'table netdev foreign { chain c { type filter hook ingress device eth0 priority 0; ip saddr 192.0.2.1 drop; }; }'", []string{"node.n2: table netdev foreign not in the plan"}},
		"a table of bridges":      {"underlay", "nft 'table bridge foreign { chain c { type filter hook forward priority 0; drop; }; }'", []string{"underlay: table bridge foreign not in the plan"}},
		"a table of ARP":          {"pod.a", "nft add table arp foreign", []string{"pod.a: table arp foreign not in the plan"}},
		"rules of iptables":       {"pod.a", "iptables-nft -A INPUT -j DROP", []string{"pod.a: table ip filter not in the plan"}},
		"looking at rules":        {"pod.a", "iptables-nft -S; iptables-nft -t nat -S; iptables-nft -P INPUT ACCEPT", nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := small()
			k := applied(t, want)
			ns, err := k.Namespace(test.netns)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run(ns, exec.Command("sh", "-ec", test.damage)); err != nil {
				t.Fatal(err)
			}
			have, err := k.Read(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			drift := plan.Drift(have, want)
			slices.Sort(drift)
			slices.Sort(test.drift)
			if !slices.Equal(drift, test.drift) {
				t.Errorf("drift:\n%s\nwant:\n%s", strings.Join(drift, "\n"), strings.Join(test.drift, "\n"))
			}
			for _, changed := range []bool{test.drift != nil, false} {
				changes, err := k.Apply(t.Context(), want)
				if err != nil || changes.Empty() == changed {
					t.Errorf("%v, changes:\n%s", err, strings.Join(changes.Lines(), "\n"))
				}
			}
			asPlanned(t, k, want)
		})
	}
}

// Who asks for all is told of links that nobody planned, with their addresses: a claim that there is
// none would hold otherwise.
func TestAllLinksAreRead(t *testing.T) {
	want := small()
	k := applied(t, want)
	ns, err := k.Namespace("node.n1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ns, exec.Command("sh", "-ec", "ip link add foreign mtu 1400 type bridge; ip address add 192.0.2.1/24 dev foreign")); err != nil {
		t.Fatal(err)
	}
	found := func(p *plan.Plan, err error) (list []string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range p.Netns {
			for _, l := range n.Links {
				if l.Name != "foreign" {
					continue
				}
				for _, a := range n.Addrs {
					if a.Link == l.Name {
						list = append(list, fmt.Sprint(n.Name, l.Type, l.MTU, l.Down, a.Prefix))
					}
				}
			}
		}
		return list
	}
	if got := found(k.Read(t.Context(), want)); got != nil {
		t.Errorf("read %q", got)
	}
	if got, want := found(k.ReadAll(t.Context(), want)), []string{"node.n1bridge1400 true 192.0.2.1/24"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
