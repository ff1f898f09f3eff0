package plan

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/plan/conntrack"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/ipset"
	"github.com/netlab/netlab/datapath/plan/ipvs"
)

func ap(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// filtered is a node with everything that this file tests.
func filtered() *Plan {
	web := Origin{Object: "service default/web", File: "a.hcl", Line: 12}
	p := &Plan{Netns: []Netns{{
		Name: "node.a", Kind: Node,
		Links:   []Link{{Name: "kube-ipvs0", Type: Dummy, MTU: 1500, MAC: [6]byte{2, 0, 0, 0, 0, 9}}},
		Routes:  []Route{{To: prefix("10.96.0.1/32"), Dev: "lo", Local: true, Origin: web}},
		Qdiscs:  []Qdisc{{Link: "kube-ipvs0", Delay: 50 * time.Millisecond, Jitter: 1500 * time.Microsecond, Loss: 0.01, Rate: 10_000_000}},
		Sysctls: []Sysctl{{"net.ipv4.ip_forward", "1"}, {"net.ipv4.vs.conntrack", "1"}},
		Sets: []ipset.Set{
			{Name: "KUBE-CLUSTER-IP", Type: ipset.HashIPPort, Origin: web, Entries: []ipset.Entry{
				{Prefix: prefix("10.96.0.2/32"), Proto: "udp", Port: 53}, {Prefix: prefix("10.96.0.1/32"), Proto: "tcp", Port: 80}}},
			{Name: "KUBE-NODE-PORT-TCP", Type: ipset.BitmapPort, Entries: []ipset.Entry{{Port: 30080, Proto: "tcp"}}},
			{Name: "KUBE-6-LOAD-BALANCER-SOURCE-CID", Type: ipset.HashIPPortNet, IPv6: true, Entries: []ipset.Entry{
				{Prefix: prefix("fd00::1/128"), Proto: "sctp", Port: 9, Second: prefix("fd00:1::7/64")}}},
		},
		Virtual: []ipvs.Server{
			{Addr: ap("10.96.0.1:80"), Proto: "tcp", Scheduler: "rr", Persistent: 10800, Origin: web, Real: []ipvs.Real{
				{Addr: ap("10.244.1.2:8080"), Weight: 1, Origin: web}, {Addr: ap("10.244.1.3:8080"), Weight: 2}}},
			{Addr: ap("[fd00::1]:53"), Proto: "udp", Scheduler: "mh", Flags: []string{"mh-port", "mh-fallback"}},
			{Addr: ap("10.96.0.3:9"), Proto: "sctp", Scheduler: "wlc"},
		},
		Cut: []conntrack.Cut{{Pod: netip.MustParseAddr("10.244.1.2"), Ingress: true, Origin: web, Allow: []conntrack.Allow{
			{Peer: []netip.Prefix{prefix("10.0.0.0/8")}, Proto: "tcp", First: 80, Last: 90}, {Proto: "icmp"}, {Peer: []netip.Prefix{}}}}},
	}}}
	p.Sort()
	return p
}

func TestFiltersSurviveEncoding(t *testing.T) {
	p := filtered()
	encoded, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(string(encoded))
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%v: got\n%+v\nwant\n%+v", err, got, p)
	}
}

func TestFiltersAreWrittenInTheSyntaxOfTheirTools(t *testing.T) {
	text := string(filtered().Text())
	for _, want := range []string{
		"ip -n node.a link add dev kube-ipvs0 mtu 1500 address 02:00:00:00:00:09 type dummy\n",
		"ip -n node.a route add local 10.96.0.1/32 dev lo\n",
		"tc -n node.a qdisc add dev kube-ipvs0 root handle 1: netem limit 10000 delay 50ms 1500us loss 1%\n" +
			"tc -n node.a qdisc add dev kube-ipvs0 parent 1:1 handle 10: tbf rate 10000000bit burst 12500b limit 75000b\n",
		"ip netns exec node.a sysctl -qw net.ipv4.ip_forward=1\n",
		"ip netns exec node.a ipset restore <<'EOF'\n" +
			"create KUBE-6-LOAD-BALANCER-SOURCE-CID hash:ip,port,net family inet6 maxelem 1048576\n" +
			"add KUBE-6-LOAD-BALANCER-SOURCE-CID fd00::1,sctp:9,fd00:1::/64\n" +
			"# a.hcl:12 service default/web\n" +
			"create KUBE-CLUSTER-IP hash:ip,port family inet maxelem 1048576\n" +
			"add KUBE-CLUSTER-IP 10.96.0.1,tcp:80\n" +
			"add KUBE-CLUSTER-IP 10.96.0.2,udp:53\n" +
			"create KUBE-NODE-PORT-TCP bitmap:port range 0-65535\n" +
			"add KUBE-NODE-PORT-TCP 30080\nEOF\n",
		"sed '/^#/d' <<'EOF' | ip netns exec node.a ipvsadm -R\n" +
			"# a.hcl:12 service default/web\n" +
			"-A -t 10.96.0.1:80 -s rr -p 10800\n" +
			"-a -t 10.96.0.1:80 -r 10.244.1.2:8080 -m -w 1\n" +
			"-a -t 10.96.0.1:80 -r 10.244.1.3:8080 -m -w 2\n" +
			"-A --sctp-service 10.96.0.3:9 -s wlc\n" +
			"-A -u [fd00::1]:53 -s mh -b mh-fallback,mh-port\nEOF\n" +
			"ip netns exec node.a sysctl -qw net.ipv4.vs.conntrack=1\n",
		"# cut to 10.244.1.2: allow tcp ports 80-90 with 10.0.0.0/8; icmp; any with no peer\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing:\n%s\nin\n%s", want, text)
		}
	}
}

// Sets, qdiscs and local routes pasted from the text are printed back by the tools as
// written.
func TestSetsRoutesAndRatesAreAcceptedAsWritten(t *testing.T) {
	debian.Require(t, "tc")
	n := filtered().Netns[0]
	n.Links = []Link{{Name: "br0", Type: Bridge, MTU: 1500}} // not every kernel has dummy
	n.Qdiscs = []Qdisc{{Link: "br0", Rate: 10_000_000}}
	n.Virtual, n.Sysctls = nil, nil
	text := string((&Plan{Netns: []Netns{n}}).Text())
	text = strings.NewReplacer("ip netns add node.a", "true", "ip netns exec node.a ", "", " -n node.a", "").Replace(text)
	out := run(t, text+"ipset save | sed -E 's/ (hashsize|bucketsize|initval) [^ ]+//g'; ip route show table local; tc qdisc show dev br0\n", "")
	for i := range n.Sets {
		lines := strings.Lines(string((&ipset.Command{Verb: "create", Set: &n.Sets[i]}).Append(nil)) + string((&ipset.Command{Verb: "add", Set: &n.Sets[i], Entries: n.Sets[i].Entries}).Append(nil)))
		for line := range lines {
			if !strings.Contains(out, line) {
				t.Errorf("ipset save does not print %s", line)
			}
		}
	}
	for _, want := range []string{"local 10.96.0.1 dev lo", "qdisc tbf 1: root refcnt 2 rate 10Mbit burst 12500b lat 50ms"} {
		if !strings.Contains(out, want) {
			t.Errorf("not printed: %s", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestDiffOfFiltersIsSmall(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Netns)
		lines  []string // among those of Changes.Lines
		drift  string
	}{{
		name:   "nothing",
		change: func(*Netns) {},
	}, {
		name: "set members are added and removed",
		change: func(n *Netns) {
			s := n.set("KUBE-CLUSTER-IP")
			s.Entries = []ipset.Entry{s.Entries[0], {Prefix: prefix("10.96.0.9/32"), Proto: "tcp", Port: 1}}
		},
		lines: []string{"add KUBE-CLUSTER-IP 10.96.0.9,tcp:1", "del KUBE-CLUSTER-IP 10.96.0.2,udp:53"},
		drift: "node.a: set KUBE-CLUSTER-IP: member 10.96.0.9,tcp:1 missing (a.hcl:12 service default/web)\n" +
			"node.a: set KUBE-CLUSTER-IP: member 10.96.0.2,udp:53 not in the plan (a.hcl:12 service default/web)",
	}, {
		name: "a set is removed",
		change: func(n *Netns) {
			n.Sets = slices.DeleteFunc(n.Sets, func(s ipset.Set) bool { return s.Name == "KUBE-CLUSTER-IP" })
		},
		lines: []string{"destroy KUBE-CLUSTER-IP"},
		drift: "node.a: set KUBE-CLUSTER-IP (hash:ip,port family inet) not in the plan (a.hcl:12 service default/web)",
	}, {
		name:   "a set of another type",
		change: func(n *Netns) { s := n.set("KUBE-NODE-PORT-TCP"); s.Type, s.Entries = ipset.HashIP, nil },
		lines:  []string{"destroy KUBE-NODE-PORT-TCP", "create KUBE-NODE-PORT-TCP hash:ip family inet maxelem 1048576"},
		drift:  "node.a: set KUBE-NODE-PORT-TCP (hash:ip family inet) changed",
	}, {
		name: "real servers are added, removed and changed",
		change: func(n *Netns) {
			n.Virtual[0].Real[0].Weight = 5
			n.Virtual[0].Real[1].Addr = ap("10.244.1.4:8080")
		},
		lines: []string{"-a -t 10.96.0.1:80 -r 10.244.1.4:8080 -m -w 2", "-e -t 10.96.0.1:80 -r 10.244.1.2:8080 -m -w 5",
			"-d -t 10.96.0.1:80 -r 10.244.1.3:8080"},
		drift: "node.a: virtual server -t 10.96.0.1:80: real server 10.244.1.4:8080 weight 2 missing\n" +
			"node.a: virtual server -t 10.96.0.1:80: real server 10.244.1.2:8080 weight 5 changed (a.hcl:12 service default/web)\n" +
			"node.a: virtual server -t 10.96.0.1:80: real server 10.244.1.3:8080 weight 2 not in the plan",
	}, {
		name: "a virtual server is removed, one added, one given another scheduler",
		change: func(n *Netns) {
			n.Virtual[0].Scheduler = "sh"
			n.Virtual[1].Addr = ap("10.96.0.3:10")
		},
		lines: []string{"-A --sctp-service 10.96.0.3:10 -s wlc", "-E -t 10.96.0.1:80 -s sh -p 10800", "-D --sctp-service 10.96.0.3:9"},
		drift: "node.a: virtual server --sctp-service 10.96.0.3:10 -s wlc missing\n" +
			"node.a: virtual server --sctp-service 10.96.0.3:9 -s wlc not in the plan\n" +
			"node.a: virtual server -t 10.96.0.1:80 changed: want -t 10.96.0.1:80 -s sh -p 10800 (a.hcl:12 service default/web)",
	}, {
		name:   "a link with the same delay in kernel ticks",
		change: func(n *Netns) { n.Qdiscs[0].Delay += 63; n.Qdiscs[0].Loss += 1e-9 },
	}, {
		name:   "a slower link",
		change: func(n *Netns) { n.Qdiscs[0] = Qdisc{Link: "kube-ipvs0", Rate: 8_000_000} },
		lines: []string{"tc -n node.a qdisc delete dev kube-ipvs0 root",
			"tc -n node.a qdisc add dev kube-ipvs0 root handle 1: tbf rate 8000000bit burst 10000b limit 60000b"},
		drift: "node.a: qdisc dev kube-ipvs0 root handle 1: tbf rate 8000000bit burst 10000b limit 60000b changed",
	}, {
		name:   "an address is no longer the node's own",
		change: func(n *Netns) { n.Routes = nil },
		lines:  []string{"ip -n node.a route delete local 10.96.0.1/32 dev lo"},
		drift:  "node.a: route local 10.96.0.1/32 dev lo not in the plan (a.hcl:12 service default/web)",
	}} {
		t.Run(row.name, func(t *testing.T) {
			have, want := filtered(), filtered()
			row.change(&want.Netns[0])
			want.Sort()
			c := Diff(have, want)
			if c.Empty() != (row.lines == nil) {
				t.Errorf("changes: %s", c.Summary())
			}
			lines := c.Lines()
			at := -1
			for _, l := range row.lines {
				if i := slices.Index(lines, l); i <= at {
					t.Errorf("%q is line %d, want it after line %d of\n%s", l, i, at, strings.Join(lines, "\n"))
				} else {
					at = i
				}
			}
			if got := strings.Join(Drift(have, want), "\n"); got != row.drift {
				t.Errorf("drift\n%s\nwant\n%s", got, row.drift)
			}
		})
	}
}

func (n *Netns) set(name string) *ipset.Set {
	return &n.Sets[slices.IndexFunc(n.Sets, func(s ipset.Set) bool { return s.Name == name })]
}

func TestFiltersRequireFeatures(t *testing.T) {
	want := []feature.Feature{feature.NetNS, feature.Conntrack, feature.IPSet, feature.IPVS, feature.Dummy, feature.Netem, feature.TBF}
	if got := Requires(filtered()); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	changed := filtered()
	changed.Netns[0].Virtual[0].Real = nil
	changed.Netns[0].set("KUBE-CLUSTER-IP").Entries = nil
	if got := Diff(filtered(), changed).Requires(); !slices.Contains(got, feature.IPVS) || !slices.Contains(got, feature.IPSet) {
		t.Errorf("changes require %q", got)
	}
}

func TestCutsAllowWhatAClauseCovers(t *testing.T) {
	c := filtered().Netns[0].Cut[0]
	for _, row := range []struct {
		peer, proto string
		port        uint16
		want        bool
	}{
		{"10.1.2.3", "tcp", 80, true}, {"10.1.2.3", "tcp", 90, true}, {"10.1.2.3", "tcp", 91, false},
		{"192.0.2.1", "tcp", 80, false}, {"10.1.2.3", "udp", 80, false}, {"192.0.2.1", "icmp", 0, true},
	} {
		if got := c.Allows(netip.MustParseAddr(row.peer), row.proto, row.port); got != row.want {
			t.Errorf("%s %s %d: %v, want %v", row.peer, row.proto, row.port, got, row.want)
		}
	}
}

// manyFilters is a node with that many virtual servers, of three real servers each, and
// a set with as many members.
func manyFilters(services int) *Plan {
	n := Netns{Name: "node.a", Kind: Node, Sets: []ipset.Set{{Name: "KUBE-CLUSTER-IP", Type: ipset.HashIPPort}}}
	for i := range services {
		addr := netip.AddrFrom4([4]byte{10, 96, byte(i >> 8), byte(i)})
		o := Origin{Object: fmt.Sprintf("service default/s%d", i), File: "many.hcl", Line: i}
		v := ipvs.Server{Addr: netip.AddrPortFrom(addr, 80), Proto: "tcp", Scheduler: "rr", Origin: o}
		for j := range 3 {
			v.Real = append(v.Real, ipvs.Real{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 244, byte(j), byte(i)}), 80), Weight: 1, Origin: o})
		}
		n.Virtual = append(n.Virtual, v)
		n.Sets[0].Entries = append(n.Sets[0].Entries, ipset.Entry{Prefix: netip.PrefixFrom(addr, 32), Proto: "tcp", Port: 80})
	}
	p := &Plan{Netns: []Netns{n}}
	p.Sort()
	return p
}

func BenchmarkFilters(b *testing.B) {
	have, want := manyFilters(10_000), manyFilters(10_000)
	want.Netns[0].Virtual[5000].Real[1].Weight = 0
	encoded, err := Encode(have)
	if err != nil {
		b.Fatal(err)
	}
	text := string(encoded)
	for name, do := range map[string]func(){
		"encode": func() { _, _ = Encode(have) },
		"decode": func() { _, _ = Decode(text) },
		"diff":   func() { _ = Diff(have, want) },
		"sort":   func() { want.Sort() },
		"text":   func() { _ = have.Text() },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

// run runs a shell script in a new network namespace and returns what it prints.
func run(t *testing.T, script, input string) string {
	t.Helper()
	if err := exec.Command("unshare", "-rn", "true").Run(); err != nil {
		t.Skipf("user namespaces are not available: %v", err)
	}
	file := filepath.Join(t.TempDir(), "script") // may exceed the limit for one argument
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-rn", "sh", "-e", file)
	cmd.Env = append(cmd.Environ(), "XTABLES_LOCKFILE="+t.TempDir()+"/lock")
	cmd.Stdin = strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, &stderr, script)
	}
	return string(out)
}
