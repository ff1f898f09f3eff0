package meaning

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// policyWorld has two nodes, the namespaces x (team = red) and y, and pods
//
//	n1: x/a (app = a)    y/a (app = a)    x/host (app = a, on the host's network)
//	n2: x/b (app = b)    y/c (app = c)
//
// with the ports http (80; x/b: 8080) over TCP and dns (53) over UDP; y/c has none.
func policyWorld() *topology.Spec {
	pod := func(ns, name, node, app string, http int) topology.PodSpec {
		p := topology.PodSpec{Block: name, Namespace: set(ns), Node: set(node), Labels: map[string]string{"app": app, "in": ns}}
		if http != 0 {
			p.Ports = []topology.PortSpec{{Name: "http", Port: set(http)}, {Name: "dns", Port: set(53), Protocol: set("udp")}}
		}
		return p
	}
	host := pod("x", "host", "n1", "a", 9090)
	host.HostNetwork = set(true)
	return &topology.Spec{
		Network:    topology.NetworkSpec{Mode: set("host-gw"), Families: set("dual")},
		Nodes:      []topology.NodeSpec{{Name: "n1"}, {Name: "n2"}},
		Clients:    []topology.ClientSpec{{Name: "out"}},
		Namespaces: []topology.NamespaceSpec{{Name: "x", Labels: map[string]string{"team": "red"}}, {Name: "y"}},
		Pods:       []topology.PodSpec{pod("x", "a", "n1", "a", 80), pod("x", "b", "n2", "b", 8080), pod("y", "a", "n1", "a", 80), pod("y", "c", "n2", "c", 0), host},
	}
}

type edit = func(*topology.Spec)

// np is a policy of a namespace.
func np(ns string, pods topology.SelectorSpec, more ...func(*topology.PolicySpec)) edit {
	return func(s *topology.Spec) {
		p := topology.PolicySpec{Name: "p" + strconv.Itoa(len(s.Policies)), Namespace: set(ns), PodSelector: pods, Origin: topology.Origin{File: "lab.hcl", Line: 10 * (1 + len(s.Policies))}}
		for _, m := range more {
			m(&p)
		}
		s.Policies = append(s.Policies, p)
	}
}

func in(peersAndPorts ...any) func(*topology.PolicySpec) {
	return func(p *topology.PolicySpec) { p.Ingress = append(p.Ingress, ruleOf(peersAndPorts)) }
}

func eg(peersAndPorts ...any) func(*topology.PolicySpec) {
	return func(p *topology.PolicySpec) { p.Egress = append(p.Egress, ruleOf(peersAndPorts)) }
}

func types(t ...string) func(*topology.PolicySpec) {
	return func(p *topology.PolicySpec) { p.PolicyTypes = set(t) }
}

func ruleOf(parts []any) (r topology.PolicyRuleSpec) {
	for _, part := range parts {
		switch part := part.(type) {
		case topology.PeerSpec:
			r.Peers = append(r.Peers, part)
		case topology.PolicyPortSpec:
			r.Ports = append(r.Ports, part)
		}
	}
	return r
}

// sel is a selector of labels given as pairs.
func sel(pairs ...string) topology.SelectorSpec {
	s := topology.SelectorSpec{Set: true, MatchLabels: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		s.MatchLabels[pairs[i]] = pairs[i+1]
	}
	return s
}

func expr(key, operator string, values ...string) topology.SelectorSpec {
	e := topology.ExpressionSpec{Key: set(key), Operator: set(operator)}
	if values != nil {
		e.Values = set(values)
	}
	return topology.SelectorSpec{Set: true, Expressions: []topology.ExpressionSpec{e}}
}

func pods(s topology.SelectorSpec) topology.PeerSpec { return topology.PeerSpec{PodSelector: s} }
func namespaces(s topology.SelectorSpec) topology.PeerSpec {
	return topology.PeerSpec{NamespaceSelector: s}
}
func both(ns, p topology.SelectorSpec) topology.PeerSpec {
	return topology.PeerSpec{NamespaceSelector: ns, PodSelector: p}
}

// block is a block of addresses.
func block(cidr string, except ...string) topology.PeerSpec {
	p := topology.PeerSpec{Block: set(netip.MustParsePrefix(cidr))}
	for _, e := range except {
		p.Except = append(p.Except, set(netip.MustParsePrefix(e)))
	}
	return p
}

// port is 80, 80-90, http or nothing, perhaps with /udp behind it.
func port(text string) (p topology.PolicyPortSpec) {
	number, protocol, ok := strings.Cut(text, "/")
	if ok {
		p.Protocol = set(protocol)
	}
	first, last, ranged := strings.Cut(number, "-")
	if first != "" {
		p.Port = set(first)
	}
	if ranged {
		n, _ := strconv.Atoi(last)
		p.EndPort = set(n)
	}
	return p
}

// cp is a cluster policy about all pods, with an ingress (or egress) rule.
func cp(tier topology.PolicyTier, priority int, action topology.PolicyAction, direction string, parts ...any) edit {
	return func(s *topology.Spec) {
		r := ruleOf(parts)
		r.Action = set(string(action))
		p := topology.ClusterPolicySpec{Name: fmt.Sprintf("c%d", len(s.ClusterPolicies)), Tier: set(string(tier)), Priority: set(priority), Subject: namespaces(sel())}
		if direction == "ingress" {
			p.Ingress = append(p.Ingress, r)
		} else {
			p.Egress = append(p.Egress, r)
		}
		s.ClusterPolicies = append(s.ClusterPolicies, p)
	}
}

func about(peer topology.PeerSpec) edit {
	return func(s *topology.Spec) { s.ClusterPolicies[len(s.ClusterPolicies)-1].Subject = peer }
}

func networks(list ...string) topology.PeerSpec {
	var p topology.PeerSpec
	for _, n := range list {
		p.Networks.Value = append(p.Networks.Value, netip.MustParsePrefix(n))
	}
	p.Networks.Set = true
	return p
}

func enforceHost(s *topology.Spec) { s.PolicyOptions.HostEgress = set("enforce") }

// policyEnd is a pod (x/a), a pod's IPv6 address (x/a/6), a node (n1) or an address.
func policyEnd(t *testing.T, lab *topology.Lab, name string) PolicyEnd {
	t.Helper()
	plain, six := strings.CutSuffix(name, "/6")
	for _, p := range lab.Pods {
		if p.Namespace+"/"+p.Name == plain {
			e := PolicyEnd{Pod: p}
			if six {
				e.Addr = topology.OfFamily(p.Addrs, true)
			}
			return e
		}
	}
	for _, n := range lab.Nodes {
		if n.Name == name {
			return PolicyEnd{Node: n}
		}
	}
	a, err := netip.ParseAddr(name)
	if err != nil {
		t.Fatalf("nothing is named %s", name)
	}
	return PolicyEnd{Addr: a}
}

// inWords says what each side says, and why.
func inWords(j Judgement) string {
	return "egress:  " + j.Egress.Text("egress") + "\ningress: " + j.Ingress.Text("ingress")
}

// judged is a judgement in short: each side's reason, with ! where it denies.
func judged(j Judgement) string {
	side := func(s SideJudgement) string {
		text := string(s.Reason)
		if !s.Allowed {
			text = "!" + text
		}
		return text
	}
	return side(j.Egress) + ", " + side(j.Ingress)
}

func TestAllowed(t *testing.T) {
	denyIn := np("x", sel(), types("Ingress"))
	denyOut := np("x", sel(), types("Egress"))
	const open, none = "default, default", "default, !isolated"
	for _, row := range []struct {
		name  string
		edits []edit
		asked string // from, to, port
		want  string
	}{
		// 1. Object and defaults.
		{"without policies all is allowed", nil, "x/a y/c 80", open},
		{"an empty policy denies ingress", []edit{np("x", topology.SelectorSpec{})}, "y/c x/a 80", none},
		{"an empty selector is like none", []edit{np("x", sel())}, "y/c x/a 80", none},
		{"egress stays open then", []edit{np("x", sel())}, "x/a y/c 80", open},
		{"another namespace is unaffected", []edit{np("x", sel())}, "x/a y/a 80", open},
		{"a pod that is not selected is unaffected", []edit{np("x", sel("app", "a"))}, "x/a x/b 80", open},
		{"a pod of that label elsewhere is unaffected", []edit{np("x", sel("app", "a"))}, "x/b y/a 80", open},
		{"egress rules isolate for egress, and ingress too", []edit{np("x", sel(), eg(pods(sel())))}, "x/a y/c 80", "!isolated, default"},
		{"egress rules do, ingress too", []edit{np("x", sel(), eg(pods(sel())))}, "y/c x/a 80", none},
		{"only ingress is written", []edit{np("x", sel(), types("Ingress"), eg(pods(sel())))}, "x/a y/c 80", open},
		{"only egress is written", []edit{denyOut}, "y/c x/a 80", open},
		{"deny all egress", []edit{denyOut}, "x/a y/c 80", "!isolated, default"},
		{"rules of a direction that is not written do nothing", []edit{np("x", sel(), types("Egress"), in()), denyIn}, "y/c x/a 80", none},
		{"an empty rule allows all", []edit{np("x", sel(), in())}, "y/c x/a 80", "default, policy"},
		{"an empty rule allows the outside", []edit{np("x", sel(), in())}, "203.0.113.9 x/a 80", "no side, policy"},
		{"an empty rule allows any protocol", []edit{np("x", sel(), in())}, "y/c x/a icmp", "default, policy"},
		{"an empty egress rule allows all", []edit{np("x", sel(), eg())}, "x/a 203.0.113.9 80", "policy, no side"},
		{"no peers means the outside, too", []edit{np("x", sel(), in(port("80")))}, "203.0.113.9 x/a 80", "no side, policy"},
		{"no peers, another port", []edit{np("x", sel(), in(port("80")))}, "203.0.113.9 x/a 81", "no side, !isolated"},
		{"a pod selector is of the own namespace", []edit{np("x", sel(), in(pods(sel("app", "a"))))}, "y/a x/b 80", none},
		{"a pod selector finds those", []edit{np("x", sel(), in(pods(sel("app", "a"))))}, "x/a x/b 80", "default, policy"},
		{"an empty pod selector is the own namespace", []edit{np("x", sel(), in(pods(sel())))}, "x/a x/b 80", "default, policy"},
		{"an empty pod selector is not all pods", []edit{np("x", sel(), in(pods(sel())))}, "y/c x/b 80", none},
		{"an empty pod selector is not the outside", []edit{np("x", sel(), in(pods(sel())))}, "203.0.113.9 x/b 80", "no side, !isolated"},
		{"a namespace selector is all pods there", []edit{np("y", sel(), in(namespaces(sel("team", "red"))))}, "x/b y/c 80", "default, policy"},
		{"not those of others", []edit{np("y", sel(), in(namespaces(sel("team", "red"))))}, "y/a y/c 80", none},
		{"an empty namespace selector is all pods", []edit{np("x", sel(), in(namespaces(sel())))}, "y/c x/a 80", "default, policy"},
		{"an empty namespace selector is not the outside", []edit{np("x", sel(), in(namespaces(sel())))}, "203.0.113.9 x/a 80", "no side, !isolated"},
		{"both selectors have to match", []edit{np("y", sel(), in(both(sel("team", "red"), sel("app", "a"))))}, "x/a y/c 80", "default, policy"},
		{"the namespace alone does not", []edit{np("y", sel(), in(both(sel("team", "red"), sel("app", "a"))))}, "x/b y/c 80", none},
		{"the pod alone does not", []edit{np("y", sel(), in(both(sel("team", "red"), sel("app", "a"))))}, "y/a y/c 80", none},
		{"two peers are alternatives", []edit{np("y", sel(), in(namespaces(sel("team", "red")), pods(sel("app", "a"))))}, "y/a y/c 80", "default, policy"},
		{"two rules are alternatives", []edit{np("y", sel(), in(port("1")), in(port("80")))}, "x/a y/c 80", "default, policy"},
		{"peer and port of one rule", []edit{np("y", sel(), in(pods(sel()), port("80")), in(namespaces(sel("team", "red")), port("81")))}, "x/a y/c 80", none},
		{"two policies are alternatives", []edit{denyIn, np("x", sel("app", "a"), in(port("80")))}, "y/c x/a 80", "default, policy"},
		{"a policy cannot deny what another allows", []edit{np("x", sel(), in(port("80"))), denyIn}, "y/c x/a 80", "default, policy"},
		// 2. Selectors.
		{"In", []edit{np("x", sel(), in(both(sel(), expr("app", "In", "c", "d"))))}, "y/c x/a 80", "default, policy"},
		{"In, not listed", []edit{np("x", sel(), in(both(sel(), expr("app", "In", "b", "d"))))}, "y/c x/a 80", none},
		{"In, without the key", []edit{np("x", sel(), in(both(sel(), expr("tier", "In", "c"))))}, "y/c x/a 80", none},
		{"NotIn", []edit{np("x", sel(), in(both(sel(), expr("app", "NotIn", "b"))))}, "y/c x/a 80", "default, policy"},
		{"NotIn, listed", []edit{np("x", sel(), in(both(sel(), expr("app", "NotIn", "c"))))}, "y/c x/a 80", none},
		{"NotIn, without the key", []edit{np("x", sel(), in(both(sel(), expr("tier", "NotIn", "c"))))}, "y/c x/a 80", "default, policy"},
		{"Exists", []edit{np("y", sel(), in(namespaces(expr("team", "Exists"))))}, "x/a y/c 80", "default, policy"},
		{"Exists, without the key", []edit{np("y", sel(), in(namespaces(expr("team", "Exists"))))}, "y/a y/c 80", none},
		{"DoesNotExist", []edit{np("y", sel(), in(namespaces(expr("team", "DoesNotExist"))))}, "y/a y/c 80", "default, policy"},
		{"DoesNotExist, with the key", []edit{np("y", sel(), in(namespaces(expr("team", "DoesNotExist"))))}, "x/a y/c 80", none},
		{"labels and expressions have to match", []edit{np("x", sel(), in(both(sel(), topology.SelectorSpec{Set: true, MatchLabels: map[string]string{"in": "y"}, Expressions: expr("app", "In", "a").Expressions})))}, "y/c x/a 80", none},
		{"namespaces carry their name", []edit{np("x", sel(), in(namespaces(sel("kubernetes.io/metadata.name", "y"))))}, "y/c x/a 80", "default, policy"},
		// 3. ipBlock.
		{"a block contains the outside", []edit{np("x", sel(), in(block("203.0.113.0/24")))}, "203.0.113.9 x/a 80", "no side, policy"},
		{"a block does not contain others", []edit{np("x", sel(), in(block("203.0.113.0/24")))}, "198.51.100.9 x/a 80", "no side, !isolated"},
		{"a block contains pods", []edit{np("x", sel(), in(block("10.244.0.0/16")))}, "y/c x/a 80", "default, policy"},
		{"an exception", []edit{np("x", sel(), in(block("203.0.113.0/24", "203.0.113.8/29")))}, "203.0.113.9 x/a 80", "no side, !isolated"},
		{"beside the exception", []edit{np("x", sel(), in(block("203.0.113.0/24", "203.0.113.8/29")))}, "203.0.113.16 x/a 80", "no side, policy"},
		{"an exception is for its own block only", []edit{np("x", sel(), in(block("203.0.0.0/16"), block("203.0.113.0/24", "203.0.113.8/29")))}, "203.0.113.9 x/a 80", "no side, policy"},
		{"an exception is for its own policy only", []edit{np("x", sel(), in(block("203.0.113.0/24", "203.0.113.8/29"))), np("x", sel(), in(block("203.0.113.9/32")))}, "203.0.113.9 x/a 80", "no side, policy"},
		{"an IPv4 block contains no IPv6", []edit{np("x", sel(), in(block("0.0.0.0/0")))}, "y/c/6 x/a/6 80", none},
		{"an IPv6 block does", []edit{np("x", sel(), in(block("::/0")))}, "y/c/6 x/a/6 80", "default, policy"},
		{"an IPv6 block contains no IPv4", []edit{np("x", sel(), in(block("::/0")))}, "y/c x/a 80", none},
		{"all, with an exception", []edit{np("x", sel(), eg(block("0.0.0.0/0", "10.0.0.0/8")))}, "x/a y/c 80", "!isolated, default"},
		{"the other end has the family of this one", []edit{np("x", sel(), eg(block("::/0")))}, "x/a/6 y/c 80", "policy, default"},
		{"a selector finds both families", []edit{np("x", sel(), in(namespaces(sel())))}, "y/c/6 x/a/6 80", "default, policy"},
		// 4. Ports.
		{"a port is TCP", []edit{np("x", sel(), in(port("80")))}, "y/c x/a 80/udp", none},
		{"a protocol is every port of it", []edit{np("x", sel(), in(port("/udp")))}, "y/c x/a 80/udp", "default, policy"},
		{"and not of others", []edit{np("x", sel(), in(port("/udp")))}, "y/c x/a 80", none},
		{"an empty port is all of TCP", []edit{np("x", sel(), in(port("")))}, "y/c x/a 65535", "default, policy"},
		{"an empty port is TCP alone", []edit{np("x", sel(), in(port("")))}, "y/c x/a icmp", none},
		{"ICMP follows rules without ports", []edit{np("x", sel(), in(namespaces(sel())))}, "y/c x/a icmp", "default, policy"},
		{"ICMP follows no rule with ports", []edit{np("x", sel(), in(port("80"), port("/udp"), port("/sctp")))}, "y/c x/a icmp", none},
		{"SCTP does not open TCP", []edit{np("x", sel(), in(port("80/sctp")))}, "y/c x/a 80", none},
		{"SCTP opens SCTP", []edit{np("x", sel(), in(port("80/sctp")))}, "y/c x/a 80/sctp", "default, policy"},
		{"the first of a range", []edit{np("x", sel(), in(port("80-90")))}, "y/c x/a 80", "default, policy"},
		{"the last of a range", []edit{np("x", sel(), in(port("80-90")))}, "y/c x/a 90", "default, policy"},
		{"before a range", []edit{np("x", sel(), in(port("80-90")))}, "y/c x/a 79", none},
		{"after a range", []edit{np("x", sel(), in(port("80-90")))}, "y/c x/a 91", none},
		{"a name is that of the destination", []edit{np("x", sel(), in(port("http")))}, "x/a x/b 8080", "default, policy"},
		{"a name is not that of the source", []edit{np("x", sel(), in(port("http")))}, "x/a x/b 80", none},
		{"a name needs its protocol", []edit{np("x", sel(), in(port("dns")))}, "y/c x/a 53/udp", none},
		{"a name of another protocol", []edit{np("x", sel(), in(port("dns")))}, "y/c x/a 53", none},
		{"a name with its protocol", []edit{np("x", sel(), in(port("dns/udp")))}, "y/c x/a 53/udp", "default, policy"},
		{"a pod without the name", []edit{np("y", sel(), in(port("http")))}, "x/a y/c 80", none},
		{"a name at egress is that of the peer", []edit{np("x", sel("app", "a"), eg(pods(sel()), port("http")))}, "x/a x/b 8080", "policy, default"},
		{"a name at egress is not the own", []edit{np("x", sel("app", "a"), eg(pods(sel()), port("http")))}, "x/a x/b 80", "!isolated, default"},
		{"a name at egress to any peer", []edit{np("x", sel("app", "a"), eg(port("http")))}, "x/a y/a 80", "policy, default"},
		{"a block has no port names at egress", []edit{np("x", sel("app", "a"), eg(block("0.0.0.0/0"), port("http")))}, "x/a x/b 8080", "!isolated, default"},
		{"a name at ingress is open to a block", []edit{np("x", sel(), in(block("0.0.0.0/0"), port("http")))}, "203.0.113.9 x/b 8080", "no side, policy"},
		{"a name at egress to the outside", []edit{np("x", sel("app", "a"), eg(port("http")))}, "x/a 203.0.113.9 80", "!isolated, no side"},
		// 5. Verdict.
		{"both sides count: egress", []edit{denyOut, np("y", sel(), in())}, "x/a y/c 80", "!isolated, policy"},
		{"both sides count: ingress", []edit{np("x", sel(), types("Egress"), eg()), np("y", sel())}, "x/a y/c 80", "policy, !isolated"},
		{"one policy, both sides", []edit{np("x", sel(), types("Ingress", "Egress"), in(pods(sel())))}, "x/a x/b 80", "!isolated, policy"},
		{"one policy, both sides allow", []edit{np("x", sel(), in(pods(sel())), eg(pods(sel())))}, "x/a x/b 80", "policy, policy"},
		{"the admin tier denies first", []edit{np("x", sel(), in()), cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "y/c x/a 80", "default, !admin"},
		{"the admin tier accepts first", []edit{denyIn, cp(topology.AdminTier, 1, topology.PolicyAccept, "ingress", namespaces(sel()))}, "y/c x/a 80", "default, admin"},
		{"a lower number comes first", []edit{cp(topology.AdminTier, 2, topology.PolicyDeny, "ingress", namespaces(sel())), cp(topology.AdminTier, 1, topology.PolicyAccept, "ingress", namespaces(sel()))}, "y/c x/a 80", "default, admin"},
		{"pass goes on to policies", []edit{denyIn, cp(topology.AdminTier, 1, topology.PolicyPass, "ingress", namespaces(sel())), cp(topology.AdminTier, 2, topology.PolicyAccept, "ingress", namespaces(sel()))}, "y/c x/a 80", none},
		{"pass, no policy, no baseline", []edit{cp(topology.AdminTier, 1, topology.PolicyPass, "ingress", namespaces(sel())), cp(topology.AdminTier, 2, topology.PolicyDeny, "ingress", namespaces(sel()))}, "y/c x/a 80", open},
		{"pass, then baseline", []edit{cp(topology.AdminTier, 1, topology.PolicyPass, "ingress", namespaces(sel())), cp(topology.BaselineTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "y/c x/a 80", "default, !baseline"},
		{"what the admin tier does not match", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()), port("81"))}, "y/c x/a 80", open},
		{"the outside is not a namespace", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "203.0.113.9 x/a 80", "no side, default"},
		{"a baseline pass ends evaluation", []edit{cp(topology.BaselineTier, 1, topology.PolicyPass, "ingress", namespaces(sel())), cp(topology.BaselineTier, 2, topology.PolicyDeny, "ingress", namespaces(sel()))}, "y/c x/a 80", open},
		{"baseline denies", []edit{cp(topology.BaselineTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "y/c x/a 80", "default, !baseline"},
		{"policies come before baseline", []edit{np("x", sel(), in()), cp(topology.BaselineTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "y/c x/a 80", "default, policy"},
		{"isolation comes before baseline", []edit{denyIn, cp(topology.BaselineTier, 1, topology.PolicyAccept, "ingress", namespaces(sel()))}, "y/c x/a 80", none},
		{"isolation in one direction only", []edit{denyOut, cp(topology.BaselineTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "y/c x/a 80", "default, !baseline"},
		{"accept does not override the other side", []edit{denyIn, cp(topology.AdminTier, 1, topology.PolicyAccept, "egress", namespaces(sel()))}, "y/c x/a 80", "admin, !isolated"},
		{"networks are pods, too", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "egress", networks("10.244.0.0/16"))}, "x/a y/c 80", "!admin, default"},
		{"networks of one family", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "egress", networks("0.0.0.0/0"))}, "x/a/6 y/c/6 80", open},
		{"a subject of pods", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel())), about(pods(sel("app", "a")))}, "y/c x/a 80", "default, !admin"},
		{"others are not subjects", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel())), about(pods(sel("app", "a")))}, "y/c x/b 80", open},
		{"a subject of pods and namespaces", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel())), about(both(sel("team", "red"), sel("app", "a")))}, "x/b y/a 80", open},
		{"host-network pods are not subjects", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "x/b x/host 9090", "default, no side"},
		// 6. Nodes and loopback.
		{"the own node reaches its pods", []edit{denyIn}, "n1 x/a 80", "no side, own node"},
		{"even if the admin tier denies all", []edit{cp(topology.AdminTier, 1, topology.PolicyDeny, "ingress", namespaces(sel()))}, "n1 x/a 80", "no side, own node"},
		{"another node does not", []edit{denyIn}, "n2 x/a 80", "no side, !isolated"},
		{"another node is in a block", []edit{np("x", sel(), in(block("192.168.0.12/32")))}, "n2 x/a 80", "no side, policy"},
		{"another node is not a pod", []edit{np("x", sel(), in(namespaces(sel())))}, "n2 x/a 80", "no side, !isolated"},
		{"a pod reaches its own node", []edit{denyOut}, "x/a n1 80", "to own node, no side"},
		{"not where egress to it is enforced", []edit{denyOut, enforceHost}, "x/a n1 80", "!isolated, no side"},
		{"a block opens it", []edit{np("x", sel(), eg(block("192.168.0.11/32"))), enforceHost}, "x/a n1 80", "policy, no side"},
		{"a pod to another node", []edit{denyOut}, "x/a n2 80", "!isolated, no side"},
		{"a pod reaches itself", []edit{denyIn, denyOut}, "x/a x/a 80", "itself, itself"},
		{"a host-network pod is its node", []edit{denyIn}, "x/host x/a 80", "no side, own node"},
		{"a host-network pod is another pod's node", []edit{np("x", sel(), in(pods(sel())))}, "x/host x/b 80", "no side, !isolated"},
		{"no policy applies to a host-network pod", []edit{denyIn}, "x/b x/host 9090", "default, no side"},
		{"nor to what it sends", []edit{denyOut}, "x/host y/c 80", "no side, default"},
		{"a host-network pod is not selected at egress", []edit{np("x", sel("app", "b"), eg(pods(sel())))}, "x/b x/host 9090", "!isolated, no side"},
		{"the outside has no side", []edit{denyIn, denyOut}, "203.0.113.9 y/c 80", "no side, default"},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := policyWorld()
			for _, e := range row.edits {
				e(spec)
			}
			lab, problems := resolve.Lab(spec, datapath.Catalogue())
			if problems.Failed() {
				t.Fatal(problems)
			}
			if got := judged(allowed(t, lab, row.asked)); got != row.want {
				t.Errorf("got  %s\nwant %s\n%s", got, row.want, inWords(allowed(t, lab, row.asked)))
			}
		})
	}
}

// allowed judges "from to port/protocol".
func allowed(t *testing.T, lab *topology.Lab, asked string) Judgement {
	t.Helper()
	f := strings.Fields(asked)
	number, protocol, ok := strings.Cut(f[2], "/")
	if !ok {
		protocol = string(topology.TCP)
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		protocol = number
	}
	return Allowed(lab, policyEnd(t, lab, f[0]), policyEnd(t, lab, f[1]), topology.Protocol(protocol), uint16(n))
}

func TestJudgementsNameWhoDecided(t *testing.T) {
	spec := policyWorld()
	for _, e := range []edit{
		np("x", sel("app", "a"), in(port("1")), in(port("80"))),
		np("x", sel("app", "a"), in(port("2"))),
		cp(topology.AdminTier, 5, topology.PolicyPass, "ingress", namespaces(sel())),
		cp(topology.AdminTier, 3, topology.PolicyDeny, "egress", networks("203.0.113.0/24")),
	} {
		e(spec)
	}
	spec.Policies[0].Ingress[1].Origin = topology.Origin{File: "lab.hcl", Line: 14}
	spec.ClusterPolicies[1].Egress[0].Name = "no docs"
	lab, problems := resolve.Lab(spec, datapath.Catalogue())
	if problems.Failed() {
		t.Fatal(problems)
	}
	for asked, want := range map[string]string{
		"y/c x/a 80": "egress:  allowed: no policy isolates the pod\n" +
			"ingress: allowed by policy x/p0, ingress rule 2 (lab.hcl:14), after a rule of the Admin tier passed it on",
		"n2 x/a 3": "egress:  allowed: no policy applies to this end\n" +
			"ingress: denied: isolated by policy x/p0 (lab.hcl:10), x/p1 (lab.hcl:20), and no ingress rule matches",
		"x/b 203.0.113.1 80": "egress:  denied by cluster policy c1, egress rule 1 \"no docs\"\n" +
			"ingress: allowed: no policy applies to this end",
		"x/a n1 22": "egress:  allowed: a pod reaches its own node, since host_egress is \"allow\"\n" +
			"ingress: allowed: no policy applies to this end",
		"x/b x/b 22": "egress:  allowed: a pod always reaches itself\ningress: allowed: a pod always reaches itself",
		"n2 x/b 22":  "egress:  allowed: no policy applies to this end\ningress: allowed: a node always reaches its own pods",
	} {
		j := allowed(t, lab, asked)
		if got := inWords(j); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", asked, got, want)
		}
		if allowed := j.Egress.Allowed && j.Ingress.Allowed; allowed == strings.Contains(want, "denied") {
			t.Errorf("%s: allowed is %v", asked, allowed)
		}
	}
}
