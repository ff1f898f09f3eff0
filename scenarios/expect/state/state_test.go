package state

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/flow"
)

func ptr[T any](v T) *T { return &v }

func at(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

func end(s string, port uint16) Endpoint {
	return Endpoint{Addrs: []netip.Prefix{netip.MustParsePrefix(s)}, Port: port}
}

var host = Host{Name: "node1", Netns: "node.node1"}

// example is what a host looks like in the tests, and after one connection.
func example() View {
	return View{
		Lines: []Line{
			{"iptables", "nat", "KUBE-SERVICES", "", ""},
			{"iptables", "nat", "KUBE-SERVICES", "", `-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -j KUBE-SVC-A`},
			{"iptables", "nat", "KUBE-SERVICES", "", `-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -j KUBE-SVC-B`},
			{"iptables", "filter", "FORWARD", "", ""},
			{"iptables", "raw", "OUTPUT", "", "-A OUTPUT -m nfacct --nfacct-name  two-spaces -j DROP"},
			{"nft", "ip kube-proxy", "", "cluster-ips", "10.96.0.1"},
			{"nft", "ip kube-proxy", "services", "", "jump elsewhere"},
		},
		Links:  []Link{{"cni0", "bridge", "", 1450, true, []netip.Prefix{netip.MustParsePrefix("10.244.1.1/24")}}, {"eth0", "veth", "", 1500, true, nil}},
		Routes: []Route{{netip.MustParsePrefix("10.244.2.0/24"), []netip.Addr{netip.MustParseAddr("192.168.0.12")}, "eth0", "unicast"}},
		Output: &Output{Status: 1, Text: "one\ntwo\n"},
		Sight: flow.Sight{
			Packets: []flow.Packet{
				{Netns: "node.node1", Link: "eth0", Protocol: "tcp", Source: at("192.168.0.100:40000"), Destination: at("192.168.0.11:30080"), TTL: 64},
				{Netns: "node.node1", Link: "eth0", Out: true, Protocol: "tcp", Source: at("10.244.1.0:50000"), Destination: at("10.244.2.3:8080"), TTL: 63,
					Around: []flow.Outer{{Kind: flow.InVXLAN, Source: at("192.168.0.11:60000"), Destination: at("192.168.0.12:8472"), TTL: 64}}},
				{Netns: "node.node2", Link: "eth0", Protocol: "udp", Source: at("1.1.1.1:1"), Destination: at("2.2.2.2:2"), TTL: 64},
			},
			Entries: []flow.Entry{{Netns: "node.node1", Protocol: "tcp", Source: at("192.168.0.100:40000"), Destination: at("192.168.0.11:30080"),
				ReplySource: at("10.244.2.3:8080"), ReplyDestination: at("10.244.1.0:50000"), Replied: true}},
			Counts: []flow.Count{{Netns: "node.node1", Tool: "iptables", Table: "nat", Chain: "KUBE-SERVICES", Rule: `-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -j KUBE-SVC-A`, Packets: 1},
				{Netns: "node.node2", Tool: "iptables", Table: "nat", Chain: "KUBE-SERVICES", Rule: `-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -j KUBE-SVC-A`, Packets: 7}},
		},
	}
}

// examples are, for each kind of claim, claims that hold of the example and claims that do not.
var examples = map[string]struct{ right, wrong []Claim }{
	"rules": {
		[]Claim{
			&Rules{Host: host, Table: "nat", Chain: "KUBE-SERVICES", Has: []string{"-d 10.96.0.1/32 -p tcp"}, Lacks: []string{"-d 10.96.0.2/32"}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Lacks: []string{"-d 10.96.0", "-j KUBE-SVC", "96.0.1", "-d 10.96.0.1/3", "-d 10.96.0.100"}}, // no rule is about them
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-d 10.96.0"}, Count: ptr(0)},
			&Rules{Host: host, Tool: "iptables", Chain: "KUBE-SERVICES", Count: ptr(2)},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-j KUBE-SVC-A"}, Count: ptr(1)},
			&Rules{Host: host, Chain: "FORWARD", Count: ptr(0)},
			&Rules{Host: host, Chain: "OUTPUT", Has: []string{"--nfacct-name two-spaces -j"}, Equals: []string{"-A OUTPUT -m nfacct --nfacct-name  two-spaces -j DROP"}},
			&Rules{Host: host, Chain: "KUBE-XLB", Absent: true},
			&Rules{Host: host, Table: "kube-proxy", Set: "cluster-ips", Equals: []string{"10.96.0.1"}},
			&Rules{Host: host, Table: "ip kube-proxy", Has: []string{"10.96.0.1"}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &Number{Exact: 1}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &Number{Some: true}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-j KUBE-SVC-B"}, Counted: &Number{}},
		},
		[]Claim{
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-d 10.96.0.1"}},     // a part of a word
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-j KUBE-SVC"}},      // so is this
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-p tcp", "-p udp"}}, // one of them
			&Rules{Host: host, Chain: "KUBE-SERVICES", Lacks: []string{"-d 10.96.0.10/32"}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Lacks: []string{"-d 10.96.0.10"}}, // it is there, with its prefix length
			&Rules{Host: host, Chain: "KUBE-SERVICES", Lacks: []string{"10.96.0.10"}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-d 10.96.0.10"}, Count: ptr(0)},
			&Rules{Host: host, Chain: "OUTPUT", Lacks: []string{"--nfacct-name two-spaces"}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Count: ptr(3)},
			&Rules{Host: host, Chain: "KUBE-SERVICE", Lacks: []string{"-j DROP"}}, // there is none
			&Rules{Host: host, Chain: "KUBE-SERVICE", Count: ptr(0)},
			&Rules{Host: host, Table: "filter", Chain: "KUBE-SERVICES", Count: ptr(2)},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Absent: true},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Equals: []string{`-A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -j KUBE-SVC-A`}},
			&Rules{Host: host, Chain: "FORWARD", Equals: []string{"-j DROP"}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &Number{Exact: 2}},
			&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &Number{}},
			&Rules{Host: host, Chain: "services", Counted: &Number{}}, // they do not count
			&Rules{Host: host, Chain: "KUBE-SERVICES", Has: []string{"-j KUBE-SVC-B"}, Counted: &Number{Some: true}},
		},
	},
	"run": {
		[]Claim{&Run{Status: 1}, &Run{Status: 1, Output: ptr("one\ntwo")}, &Run{Status: 1, Matches: regexp.MustCompile("(?m)^two$")}},
		[]Claim{&Run{}, &Run{Status: 1, Output: ptr("one")}, &Run{Status: 1, Matches: regexp.MustCompile("three")}},
	},
	"interface": {
		[]Claim{
			&Interface{Host: host, Link: "cni0", Type: "bridge", MTU: 1450, Up: ptr(true), Addrs: []netip.Prefix{netip.MustParsePrefix("10.244.1.1/32")}},
			&Interface{Host: host, Addrs: []netip.Prefix{netip.MustParsePrefix("10.244.1.1/24")}},
			&Interface{Host: host, Addrs: []netip.Prefix{netip.MustParsePrefix("10.96.0.1/32")}, Absent: true},
			&Interface{Host: host, Link: "docker0", Absent: true},
		},
		[]Claim{
			&Interface{Host: host, Link: "cni1"},
			&Interface{Host: host, Link: "cni0", MTU: 1500},
			&Interface{Host: host, Link: "cni0", Master: "br0"},
			&Interface{Host: host, Link: "cni0", Up: ptr(false)},
			&Interface{Host: host, Link: "eth0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.244.1.1/24")}},
			&Interface{Host: host, Link: "cni0", Absent: true},
			&Interface{Host: host, Addrs: []netip.Prefix{netip.MustParsePrefix("10.244.1.1/16")}},
		},
	},
	"route": {
		[]Claim{
			&ToRoute{Host: host, To: netip.MustParsePrefix("10.244.2.0/24"), Via: netip.MustParseAddr("192.168.0.12"), Dev: "eth0", Type: "unicast"},
			&ToRoute{Host: host, To: netip.MustParsePrefix("0.0.0.0/0"), Absent: true},
		},
		[]Claim{
			&ToRoute{Host: host, To: netip.MustParsePrefix("10.244.0.0/16")},
			&ToRoute{Host: host, To: netip.MustParsePrefix("10.244.2.0/24"), Via: netip.MustParseAddr("192.168.0.13")},
			&ToRoute{Host: host, To: netip.MustParsePrefix("10.244.2.0/24"), Absent: true},
		},
	},
	"tracked": {
		[]Claim{
			&Tracked{Host: host, Protocol: "tcp", Source: end("192.168.0.0/24", 0), Destination: end("192.168.0.11/32", 30080), ReplySource: end("10.244.2.3/32", 8080),
				ReplyDestination: end("10.244.1.0/32", 0), Replied: ptr(true), Count: ptr(1)},
			&Tracked{Host: host, Source: end("192.168.0.11/32", 0), Absent: true},
			&Tracked{Host: host, Destination: Endpoint{Port: 30080}},
		},
		[]Claim{
			&Tracked{Host: host, ReplySource: end("192.168.0.11/32", 0)},
			&Tracked{Host: host, Replied: ptr(false)},
			&Tracked{Host: host, Protocol: "udp"},
			&Tracked{Host: host, Count: ptr(2)},
			&Tracked{Host: host, Absent: true},
			&Tracked{Host: Host{Netns: "node.node2"}},
		},
	},
	"seen": {
		[]Claim{
			&Seen{Host: host, Link: "eth0", Direction: "in", Source: end("192.168.0.100/32", 0), Destination: Endpoint{Port: 30080}, TTL: 64, Encapsulation: Plain, Count: ptr(1)},
			&Seen{Host: host, Link: "eth0", Direction: "out", Destination: end("10.244.2.3/32", 8080), TTL: 63, Encapsulation: "vxlan",
				OuterSource: end("192.168.0.11/32", 0), OuterDestination: end("192.168.0.12/32", 8472)},
			&Seen{Host: host, Link: "eth0", Protocol: "udp", Absent: true},
			&Seen{Host: host, Link: "eth0", Source: end("192.168.0.100/32", 40000)},
		},
		[]Claim{
			&Seen{Host: host, Link: "cni0"},
			&Seen{Host: host, Link: "eth0", Direction: "out", Destination: Endpoint{Port: 30080}},
			&Seen{Host: host, Link: "eth0", Destination: end("10.244.2.3/32", 0), Encapsulation: Plain},
			&Seen{Host: host, Link: "eth0", Destination: end("10.244.2.3/32", 0), TTL: 64},
			&Seen{Host: host, Link: "eth0", Encapsulation: "vxlan", OuterDestination: end("192.168.0.13/32", 0)},
			&Seen{Host: host, Link: "eth0", Destination: end("192.168.0.11/32", 0), OuterSource: end("192.168.0.0/24", 0)},
			&Seen{Host: host, Link: "eth0", Encapsulation: "ipip"},
			&Seen{Host: host, Link: "eth0", Count: ptr(1)},
			&Seen{Host: host, Link: "eth0", Absent: true},
		},
	},
}

func TestClaims(t *testing.T) {
	for _, kind := range Kinds() {
		x := examples[kind]
		if len(x.right) == 0 || len(x.wrong) == 0 {
			t.Errorf("%s has no examples: add claims that hold and claims that do not", kind)
		}
		for _, c := range x.right {
			if v := c.Judge([]View{example(), example()}); len(v.Wrong) > 0 || v.Unknown != "" || c.Wanted() == "" {
				t.Errorf("%s: %s: wrong %q, unknown %q: there is %s", kind, c.Wanted(), v.Wrong, v.Unknown, v.Shown)
			}
		}
		for _, c := range x.wrong {
			if v := c.Judge([]View{example()}); len(v.Wrong) == 0 {
				t.Errorf("%s: %s: holds of %s", kind, c.Wanted(), v.Shown)
			}
		}
	}
}

// A claim about connections is about every one of them.
func TestOneOtherConnectionRefutesTheClaim(t *testing.T) {
	other := example()
	other.Sight = flow.Sight{}
	for _, c := range []Claim{
		&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &Number{Some: true}},
		&Tracked{Host: host, Protocol: "tcp"},
		&Seen{Host: host, Link: "eth0", Direction: "in"},
	} {
		if v := c.Judge([]View{example(), other}); len(v.Wrong) == 0 {
			t.Errorf("%s: %s: holds, although one connection shows nothing", c.Subject(), c.Wanted())
		}
	}
}

// Paper does not know which ports the kernel chooses, nor how long a stream is.
func TestPaperDoesNotGuess(t *testing.T) {
	v := example()
	v.Paper, v.Protocol = true, flow.TCP
	v.Packets = slices.Clone(v.Packets)
	v.Packets[0].Source = netip.AddrPortFrom(v.Packets[0].Source.Addr(), 0)
	v.Counts = slices.Clone(v.Counts)
	v.Counts[0].AtLeast = true
	for _, row := range []struct {
		claim Claim
		why   string
	}{
		{&Seen{Host: host, Link: "eth0", Source: end("192.168.0.100/32", 40000)}, "port"},
		{&Seen{Host: host, Link: "eth0", Source: end("192.168.0.100/32", 40000), Absent: true}, "port"},
		{&Seen{Host: host, Link: "eth0", Direction: "in", Count: ptr(1)}, "how many packets"},
		{&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &Number{Exact: 2}}, "how many packets"},
		{&Run{}, "command"},
	} {
		if _, ok := row.claim.(*Run); ok {
			v.Output = nil
		}
		if got := row.claim.Judge([]View{v}); !strings.Contains(got.Unknown, row.why) || len(got.Wrong) > 0 {
			t.Errorf("%s: unknown %q, wrong %q", row.claim.Wanted(), got.Unknown, got.Wrong)
		}
	}
	for _, c := range []Claim{
		&Seen{Host: host, Link: "eth0", Source: end("192.168.0.101/32", 40000)}, // whatever the port
		&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &Number{}},
	} {
		if got := c.Judge([]View{v}); len(got.Wrong) == 0 {
			t.Errorf("%s: holds, or is not known: %q", c.Wanted(), got.Unknown)
		}
	}
}

// Whether the table nat sees a tunnel's datagram depends on what came before it.
func TestPaperDoesNotKnowTunnels(t *testing.T) {
	v := example()
	v.Paper = true
	v.Counts = slices.Clone(v.Counts)
	v.Counts[0].Packets, v.Counts[0].AtLeast = 0, true
	for _, n := range []Number{{Some: true}, {Exact: 0}, {Exact: 1}} {
		if got := (&Rules{Host: host, Chain: "KUBE-SERVICES", Counted: &n}).Judge([]View{v}); got.Unknown == "" || len(got.Wrong) > 0 {
			t.Errorf("%s: unknown %q, wrong %q", n, got.Unknown, got.Wrong)
		}
	}
}

func TestACommandThatDidNotEnd(t *testing.T) {
	for _, o := range []Output{{Late: true}, {Long: true}, {Err: "command not found"}} {
		if v := (&Run{}).Judge([]View{{Output: &o}}); len(v.Wrong) == 0 {
			t.Errorf("%+v: holds", o)
		}
	}
}

func TestAMisspeltNameIsSuggested(t *testing.T) {
	lines := example().Lines
	for want, r := range map[string]*Rules{
		`node1 has no chain KUBE-SERVICE. Did you mean "KUBE-SERVICES"?`: {Host: host, Table: "nat", Chain: "KUBE-SERVICE"},
		`node1 has no table mangel.`:                                     {Host: host, Table: "mangel"},
		`node1 has no set cluster-ip. Did you mean "cluster-ips"?`:       {Host: host, Set: "cluster-ip"},
		`node1 has no rules of ipvsadm.`:                                 {Host: host, Tool: "ipvsadm", Table: "nat", Absent: true},
		"In node1 " + doNotCount + ".":                                   {Host: host, Chain: "services", Counted: &Number{}},
		`node1 has no such rules together.`:                              {Host: host, Table: "filter", Chain: "KUBE-SERVICES"},
		``:                                                               {Host: host, Tool: "iptables", Chain: "KUBE-XLB", Absent: true},
	} {
		if got := r.Unknown(lines); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What a rule says with more around it, it says: who claims that none does would be told a
// falsehood otherwise.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		rule, part string
		want       bool
	}{
		{"-A A -p tcp -j DNAT --to-destination 10.244.2.1:8080", "10.244.2.1", true},
		{"-A A -p tcp -j DNAT --to-destination 10.244.2.1:8080", "--to-destination 10.244.2", false},
		{"-A A -p tcp -j DNAT --to-destination 110.244.2.1:8080", "10.244.2.1", false},
		{"-A A -d 10.0.0.0/8 -j DROP", "-d 10.0.0.0", false},
		{"-A A -d fd00::1/128 -j DROP", "-d fd00::1", true},
		{"-A A -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT", "ESTABLISHED", true},
		{`-A A -m comment --comment "default/web: has no endpoints" -j REJECT`, "default/web", true},
		{`-A A -m comment --comment "default/web-2" -j REJECT`, "default/web", false},
		{`-A A -m comment --comment "kubernetes service portals" -j B`, "--comment kubernetes service portals", true},
		{"-A A -p tcp --dport 8080 -j DROP", "--dport 80", false},
		{"-A A -j DOCKER-USER", "-j DOCKER", false},
		{"tcp dport { 80, 443 } drop", "80", true},
	} {
		if got := mentions(c.rule, c.part); got != c.want {
			t.Errorf("%q mentions %q: %v, want %v", c.rule, c.part, got, c.want)
		}
	}
}
