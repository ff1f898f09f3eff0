package calico

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// crowd is a node with n pods, all of them isolated.
func crowd(n int, cidr string) policy.View {
	lab := &topology.Lab{Network: topology.Network{PodCIDRs: []netip.Prefix{netip.MustParsePrefix(cidr)}}}
	node := &topology.Node{Name: "a"}
	a := lab.Network.PodCIDRs[0].Addr()
	for i := range n {
		a = a.Next()
		p := &topology.Pod{Name: fmt.Sprint("p", i), Namespace: "default", Node: node, Addrs: []netip.Addr{a}, HostLink: fmt.Sprint("veth", i)}
		node.Pods, lab.Pods = append(node.Pods, p), append(lab.Pods, p)
	}
	lab.Nodes = []*topology.Node{node}
	lab.Policies = []*topology.Policy{{Name: "deny", Namespace: "default", Pods: lab.Pods, Ingress: topology.Direction{Isolates: true}}}
	return policy.Views(lab)[0]
}

func TestTheTreeLeadsEachAddressToItsPod(t *testing.T) {
	for _, row := range []struct {
		pods int
		cidr string
		most int // rules that a packet may meet
	}{
		{1, "10.244.1.0/24", 2}, {4, "10.244.1.0/24", 8}, {5, "10.244.1.0/24", 20}, {200, "10.244.1.0/24", 48},
		{1000, "10.244.0.0/16", 56}, {300, "fd00:10:244:1::/64", 56},
	} {
		v := crowd(row.pods, row.cidr)
		n, err := compile(v)
		if err != nil {
			t.Fatal(err)
		}
		chains := map[string][]iptables.Rule{}
		for _, c := range n.Tables[0].Chains {
			chains[c.Name] = c.Rules
		}
		for _, p := range v.Pods {
			for _, root := range []string{from, to} {
				end, met := follow(chains, root, p.Addrs[0])
				if want := endpointChain(root, p.Pod); end != want || met > row.most {
					t.Errorf("%d pods: %s of %s leads to %q after %d rules, want %q within %d", row.pods, root, p.Addrs[0], end, met, want, row.most)
				}
			}
		}
		stranger := netip.MustParseAddr("192.0.2.1")
		if end, _ := follow(chains, from, stranger); end != "" {
			t.Errorf("%d pods: an unknown address is led to %q", row.pods, end)
		}
	}
}

// follow returns the chain to which a tree leads an address, and how many rules it
// looks at.
func follow(chains map[string][]iptables.Rule, chain string, a netip.Addr) (end string, met int) {
	for {
		next := ""
		for _, r := range chains[chain] {
			met++
			on, leads := r.Target.(iptables.Goto)
			if !leads {
				continue // what a pod sends to itself
			}
			var p netip.Prefix
			switch m := r.Matches[1].(type) {
			case iptables.Src:
				p = m.Prefix
			case iptables.Dst:
				p = m.Prefix
			}
			if p.Contains(a) {
				next = on.Chain
				break
			}
		}
		if next == "" {
			return "", met
		}
		if chain = next; len(chain) > 7 && (chain[:8] == "cali-fw-" || chain[:8] == "cali-tw-") {
			return chain, met
		}
	}
}

func TestNamesFitTheKernel(t *testing.T) {
	v := crowd(300, "10.244.0.0/16")
	for i := range v.Pods {
		v.Pods[i].Namespace = "a-namespace-with-a-name-of-many-many-letters"
	}
	n, err := compile(v)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range n.Tables[0].Chains {
		if len(c.Name) > 28 || seen[c.Name] {
			t.Errorf("chain %q is too long or a duplicate", c.Name)
		}
		seen[c.Name] = true
	}
	for _, s := range n.Sets {
		if len(s.Name) > 31 {
			t.Errorf("set %q is too long", s.Name)
		}
	}
}

// Where each pod has a link of its own, the trees are those of Felix.
func TestLinksLeadToTheirPods(t *testing.T) {
	lab := database()
	lab.Network.Mode = topology.NetworkMode{PodRoutes: true, PodLinks: "cali"}
	node := lab.Nodes[0]
	for i, link := range []string{"cali95bb00000000", "cali2c0000000000"} {
		p := &topology.Pod{Name: fmt.Sprint("more-", i), Namespace: "default", Node: node, HostLink: link, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{10, 88, 0, byte(30 + i)})}}
		node.Pods, lab.Pods = append(node.Pods, p), append(lab.Pods, p)
		lab.Policies[0].Pods = append(lab.Policies[0].Pods, p)
	}
	rendered := func() (out []string) {
		n, err := compile(policy.Views(lab)[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range n.Tables[0].Chains {
			if c.Name != forward && !strings.HasPrefix(c.Name, to) {
				continue
			}
			for i := range c.Rules {
				words := strings.Fields(c.Rules[i].Save())
				at := slices.Index(words, "-m")
				out = append(out, c.Name+" "+strings.Join(append(words[:at:at], words[at+4:]...), " "))
			}
		}
		return out
	}
	want := []string{
		"cali-FORWARD -i cali+ -j cali-from-wl-dispatch",
		"cali-FORWARD -o cali+ -j cali-to-wl-dispatch",
		"cali-to-wl-dispatch -o cali2+ -g cali-to-wl-dispatch-2",
		"cali-to-wl-dispatch -o cali9+ -g cali-to-wl-dispatch-9",
		`cali-to-wl-dispatch -m comment --comment "Unknown interface" -j DROP`,
		"cali-to-wl-dispatch-2 -s 10.88.0.27/32 -d 10.88.0.27/32 -j RETURN",
		"cali-to-wl-dispatch-2 -o cali2b1490aa46a -g cali-tw-cali2b1490aa46a", // no policy is about it
		"cali-to-wl-dispatch-2 -s 10.88.0.31/32 -d 10.88.0.31/32 -j RETURN",
		"cali-to-wl-dispatch-2 -o cali2c0000000000 -g cali-tw-cali2c0000000000",
		`cali-to-wl-dispatch-2 -m comment --comment "Unknown interface" -j DROP`,
		"cali-to-wl-dispatch-9 -s 10.88.0.26/32 -d 10.88.0.26/32 -j RETURN",
		"cali-to-wl-dispatch-9 -o cali95aa86cbb2a -g cali-tw-cali95aa86cbb2a",
		"cali-to-wl-dispatch-9 -s 10.88.0.30/32 -d 10.88.0.30/32 -j RETURN",
		"cali-to-wl-dispatch-9 -o cali95bb00000000 -g cali-tw-cali95bb00000000",
		`cali-to-wl-dispatch-9 -m comment --comment "Unknown interface" -j DROP`,
	}
	if got := rendered(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lab.Proxy.Mode.VirtualServers = true
	if got := rendered(); slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "-o cali") }) {
		t.Errorf("with virtual servers, links do not tell:\n%s", strings.Join(got, "\n"))
	}
}
