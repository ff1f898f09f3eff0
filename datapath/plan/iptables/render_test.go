package iptables

import (
	"net/netip"
	"strings"
	"testing"
)

// ruleRow is a rule in both of its text forms.
type ruleRow struct {
	name    string
	rule    Rule
	restore string
	save    string
}

func block(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// ruleRows has at least one row for every type of match and target.
var ruleRows = []ruleRow{{
	name:    "packets from outside",
	rule:    Rule{Matches: []Match{PhysdevIsIn{Not: true}, AddrType{Src: "LOCAL", NotSrc: true}}, Target: Accept{}},
	restore: `-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT`,
	save:    `-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT`,
}, {
	name: "a kube-proxy service rule",
	rule: Rule{Matches: []Match{Comment{"default/web:http cluster IP"}, Proto{Name: "tcp"},
		Dst{Prefix: block("10.96.1.1/32")}, DPort{80}, Src{block("10.244.0.0/16"), true}},
		Target: Jump{"KUBE-MARK-MASQ"}},
	restore: `-m comment --comment "default/web:http cluster IP" -m tcp -p tcp -d 10.96.1.1 --dport 80 ! -s 10.244.0.0/16 -j KUBE-MARK-MASQ`,
	save:    `! -s 10.244.0.0/16 -d 10.96.1.1/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ`,
}, {
	name:    "a port of the namespace itself",
	rule:    Rule{Matches: []Match{Comment{"default/web:http"}, Proto{Name: "tcp"}, DPort{80}, Dst{Prefix: block("10.96.1.1/32")}}, Target: Redirect{20001}},
	restore: `-m comment --comment default/web:http -m tcp -p tcp --dport 80 -d 10.96.1.1 -j REDIRECT --to-ports 20001`,
	save:    `-d 10.96.1.1/32 -p tcp -m comment --comment "default/web:http" -m tcp --dport 80 -j REDIRECT --to-ports 20001`,
}, {
	name:    "a state in the words of older versions",
	rule:    Rule{Matches: []Match{State{"NEW"}}, Target: Accept{}},
	restore: `-m state --state NEW -j ACCEPT`,
	save:    `-m state --state NEW -j ACCEPT`,
}, {
	name:    "a comment of one word is written bare",
	rule:    Rule{Matches: []Match{Comment{"default/web:http"}, Proto{Name: "udp"}, DPort{30000}}, Target: Jump{"KUBE-MARK-MASQ"}},
	restore: `-m comment --comment default/web:http -m udp -p udp --dport 30000 -j KUBE-MARK-MASQ`,
	save:    `-p udp -m comment --comment "default/web:http" -m udp --dport 30000 -j KUBE-MARK-MASQ`,
}, {
	name:    "a comment of letters is printed bare",
	rule:    Rule{Matches: []Match{Comment{"web-0_a"}}, Target: Return{}},
	restore: `-m comment --comment web-0_a -j RETURN`,
	save:    `-m comment --comment web-0_a -j RETURN`,
}, {
	name:    "a comment with quotes",
	rule:    Rule{Matches: []Match{Comment{`it's a "b" \ c`}}, Target: Return{}},
	restore: `-m comment --comment "it\'s a \"b\" \\ c" -j RETURN`,
	save:    `-m comment --comment "it\'s a \"b\" \\ c" -j RETURN`,
}, {
	name:    "one of three",
	rule:    Rule{Matches: []Match{Random{1.0 / 3}}, Target: Return{}},
	restore: `-m statistic --mode random --probability 0.3333333333 -j RETURN`,
	save:    `-m statistic --mode random --probability 0.33333333349 -j RETURN`,
}, {
	name:    "one of two",
	rule:    Rule{Matches: []Match{Random{0.5}}, Target: Return{}},
	restore: `-m statistic --mode random --probability 0.5000000000 -j RETURN`,
	save:    `-m statistic --mode random --probability 0.50000000000 -j RETURN`,
}, {
	name:    "one of forty-nine",
	rule:    Rule{Matches: []Match{Random{1.0 / 49}}, Target: Return{}},
	restore: `-m statistic --mode random --probability 0.0204081633 -j RETURN`,
	save:    `-m statistic --mode random --probability 0.02040816331 -j RETURN`,
}, {
	name:    "recording a source address",
	rule:    Rule{Matches: []Match{Comment{"x"}, Recent{List: "KUBE-SEP-A", Set: true}, Proto{Name: "sctp"}}, Target: DNAT{netip.MustParseAddrPort("10.244.1.2:8080")}},
	restore: `-m comment --comment x -m recent --name KUBE-SEP-A --set -m sctp -p sctp -j DNAT --to-destination 10.244.1.2:8080`,
	save:    `-p sctp -m comment --comment x -m recent --set --name KUBE-SEP-A --mask 255.255.255.255 --rsource -m sctp -j DNAT --to-destination 10.244.1.2:8080`,
}, {
	name:    "a source address recorded recently",
	rule:    Rule{Matches: []Match{Recent{List: "KUBE-SEP-A", Seconds: 10800, Reap: true}}, Target: Return{}},
	restore: `-m recent --name KUBE-SEP-A --rcheck --seconds 10800 --reap -j RETURN`,
	save:    `-m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j RETURN`,
}, {
	name:    "a source address recorded at any time",
	rule:    Rule{Matches: []Match{Recent{List: "KUBE-SEP-A"}}, Target: Return{}},
	restore: `-m recent --name KUBE-SEP-A --rcheck -j RETURN`,
	save:    `-m recent --rcheck --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j RETURN`,
}, {
	name:    "or mark",
	rule:    Rule{Target: OrMark{0x4000}},
	restore: `-j MARK --or-mark 0x4000`,
	save:    `-j MARK --set-xmark 0x4000/0x4000`,
}, {
	name:    "xor mark",
	rule:    Rule{Target: XorMark{0x4000}},
	restore: `-j MARK --xor-mark 0x4000`,
	save:    `-j MARK --set-xmark 0x4000/0x0`,
}, {
	name:    "no mark",
	rule:    Rule{Matches: []Match{Mark{0x4000, 0x4000, true}}, Target: Return{}},
	restore: `-m mark ! --mark 0x4000/0x4000 -j RETURN`,
	save:    `-m mark ! --mark 0x4000/0x4000 -j RETURN`,
}, {
	name:    "the whole mark",
	rule:    Rule{Matches: []Match{Mark{Value: 5}}, Target: Return{}},
	restore: `-m mark --mark 0x5 -j RETURN`,
	save:    `-m mark --mark 0x5 -j RETURN`,
}, {
	name:    "connection states are printed in the kernel's order",
	rule:    Rule{Matches: []Match{CTState{[]string{"DNAT", "ESTABLISHED", "RELATED", "INVALID", "NEW", "SNAT", "UNTRACKED"}, true}}, Target: Return{}},
	restore: `-m conntrack ! --ctstate DNAT,ESTABLISHED,RELATED,INVALID,NEW,SNAT,UNTRACKED -j RETURN`,
	save:    `-m conntrack ! --ctstate INVALID,NEW,RELATED,ESTABLISHED,UNTRACKED,SNAT,DNAT -j RETURN`,
}, {
	name:    "address types",
	rule:    Rule{Matches: []Match{AddrType{Src: "LOCAL"}, AddrType{Dst: "LOCAL"}, AddrType{Src: "UNICAST", Dst: "BROADCAST"}}, Target: Return{}},
	restore: `-m addrtype --src-type LOCAL -m addrtype --dst-type LOCAL -m addrtype --src-type UNICAST --dst-type BROADCAST -j RETURN`,
	save:    `-m addrtype --src-type LOCAL -m addrtype --dst-type LOCAL -m addrtype --src-type UNICAST --dst-type BROADCAST -j RETURN`,
}, {
	name:    "interfaces",
	rule:    Rule{Matches: []Match{OutIf{"eth0", true}, InIf{"veth+", false}, Src{block("0.0.0.0/0"), false}}, Target: Accept{}},
	restore: `! -o eth0 -i veth+ -s 0.0.0.0/0 -j ACCEPT`,
	save:    `-i veth+ ! -o eth0 -j ACCEPT`,
}, {
	name:    "an unmasked network",
	rule:    Rule{Matches: []Match{Proto{Name: "icmp"}, Dst{block("10.1.2.3/8"), true}}, Target: Drop{}},
	restore: `-p icmp ! -d 10.1.2.3/8 -j DROP`,
	save:    `! -d 10.0.0.0/8 -p icmp -j DROP`,
}, {
	name:    "a rule without target",
	rule:    Rule{Matches: []Match{Comment{"only counts"}, Proto{Name: "sctp"}, DPort{9}}},
	restore: `-m comment --comment "only counts" -m sctp -p sctp --dport 9`,
	save:    `-p sctp -m comment --comment "only counts" -m sctp --dport 9`,
}, {
	name:    "an empty rule",
	rule:    Rule{},
	restore: ``,
	save:    ``,
}, {
	name:    "destination NAT",
	rule:    Rule{Matches: []Match{Proto{Name: "tcp"}}, Target: DNAT{netip.MustParseAddrPort("10.244.1.2:8080")}},
	restore: `-m tcp -p tcp -j DNAT --to-destination 10.244.1.2:8080`,
	save:    `-p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080`,
}, {
	name:    "masquerade",
	rule:    Rule{Matches: []Match{Src{block("10.244.0.0/16"), false}, Dst{block("224.0.0.0/4"), true}}, Target: Masquerade{RandomFully: true}},
	restore: `-s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully`,
	save:    `-s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully`,
}, {
	name:    "plain masquerade",
	rule:    Rule{Target: Masquerade{}},
	restore: `-j MASQUERADE`,
	save:    `-j MASQUERADE`,
}, {
	name:    "reject",
	rule:    Rule{Target: Reject{}},
	restore: `-j REJECT`,
	save:    `-j REJECT --reject-with icmp-port-unreachable`,
}, {
	name:    "reject with a reset",
	rule:    Rule{Matches: []Match{Proto{Name: "tcp"}}, Target: Reject{"tcp-reset"}},
	restore: `-m tcp -p tcp -j REJECT --reject-with tcp-reset`,
	save:    `-p tcp -m tcp -j REJECT --reject-with tcp-reset`,
}, {
	name:    "a set",
	rule:    Rule{Matches: []Match{Comment{"x"}, MatchSet{Set: "KUBE-CLUSTER-IP", Parts: "dst,dst"}}, Target: Accept{}},
	restore: `-m comment --comment x -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT`,
	save:    `-m comment --comment x -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT`,
}, {
	name:    "not in a set",
	rule:    Rule{Matches: []Match{MatchSet{"KUBE-CLUSTER-IP", "src,dst", true}, Proto{Name: "tcp"}}, Target: Goto{"KUBE-MARK-MASQ"}},
	restore: `-m set ! --match-set KUBE-CLUSTER-IP src,dst -m tcp -p tcp -g KUBE-MARK-MASQ`,
	save:    `-p tcp -m set ! --match-set KUBE-CLUSTER-IP src,dst -m tcp -g KUBE-MARK-MASQ`,
}, {
	name:    "a range of ports",
	rule:    Rule{Matches: []Match{Proto{Name: "tcp"}, DPorts{1000, 2000}}, Target: Return{}},
	restore: `-m tcp -p tcp --dport 1000:2000 -j RETURN`,
	save:    `-p tcp -m tcp --dport 1000:2000 -j RETURN`,
}, {
	name:    "a range of one port",
	rule:    Rule{Matches: []Match{Proto{Name: "udp"}, DPorts{53, 53}}, Target: Return{}},
	restore: `-m udp -p udp --dport 53 -j RETURN`,
	save:    `-p udp -m udp --dport 53 -j RETURN`,
}, {
	name:    "a list of ports",
	rule:    Rule{Matches: []Match{Proto{Name: "tcp"}, MultiPort{"80,443,1000:2000"}}, Target: Return{}},
	restore: `-m tcp -p tcp -m multiport --dports 80,443,1000:2000 -j RETURN`,
	save:    `-p tcp -m tcp -m multiport --dports 80,443,1000:2000 -j RETURN`,
}, {
	name:    "bridge ports",
	rule:    Rule{Matches: []Match{Physdev{In: "veth+", Out: "veth1", Bridged: true}, Physdev{Bridged: true}, Physdev{Out: "cali+"}}, Target: Return{}},
	restore: `-m physdev --physdev-in veth+ --physdev-out veth1 --physdev-is-bridged -m physdev --physdev-is-bridged -m physdev --physdev-out cali+ -j RETURN`,
	save:    `-m physdev --physdev-in veth+ --physdev-out veth1 --physdev-is-bridged -m physdev --physdev-is-bridged -m physdev --physdev-out cali+ -j RETURN`,
}, {
	name:    "a limit, and logging to user space",
	rule:    Rule{Matches: []Match{Limit{Rate: "10/minute", Burst: 10}}, Target: NFLog{Group: 100, Prefix: "DROP by policy default/p"}},
	restore: `-m limit --limit 10/minute --limit-burst 10 -j NFLOG --nflog-prefix "DROP by policy default/p" --nflog-group 100`,
	save:    `-m limit --limit 10/min --limit-burst 10 -j NFLOG --nflog-prefix "DROP by policy default/p" --nflog-group 100`,
}, {
	name:    "limits in the largest exact unit, with the default burst",
	rule:    Rule{Matches: []Match{Limit{Rate: "120/min"}, Limit{Rate: "7/min", Burst: 5}, Limit{Rate: "100/s"}, Limit{Rate: "48/day"}, Limit{Rate: "3"}}, Target: NFLog{Prefix: "x"}},
	restore: `-m limit --limit 120/min -m limit --limit 7/min -m limit --limit 100/s -m limit --limit 48/day -m limit --limit 3 -j NFLOG --nflog-prefix x --nflog-group 0`,
	save:    `-m limit --limit 2/sec -m limit --limit 7/min -m limit --limit 100/sec -m limit --limit 2/hour -m limit --limit 3/sec -j NFLOG --nflog-prefix x`,
}, {
	name:    "ICMP types",
	rule:    Rule{Matches: []Match{Proto{Name: "icmp"}, ICMPType{Type: 8, AnyCode: true}, ICMPType{Type: 3, Code: 4}}, Target: Return{}},
	restore: `-p icmp -m icmp --icmp-type 8 -m icmp --icmp-type 3/4 -j RETURN`,
	save:    `-p icmp -m icmp --icmp-type 8 -m icmp --icmp-type 3/4 -j RETURN`,
}, {
	name:    "some bits of the mark",
	rule:    Rule{Target: SetMark{0x10000, 0x30000}},
	restore: `-j MARK --set-mark 0x10000/0x30000`,
	save:    `-j MARK --set-xmark 0x10000/0x30000`,
}, {
	name:    "bits of the mark that the mask leaves out",
	rule:    Rule{Target: SetMark{0x10000, 0x20000}},
	restore: `-j MARK --set-mark 0x10000/0x20000`,
	save:    `-j MARK --set-xmark 0x10000/0x30000`,
}, {
	name:    "no bits of the mark",
	rule:    Rule{Target: SetMark{0, 0x30000}},
	restore: `-j MARK --set-mark 0x0/0x30000`,
	save:    `-j MARK --set-xmark 0x0/0x30000`,
}, {
	name:    "a rule from the kernel",
	rule:    Rule{Raw: "-m length --length 1:9 -j RETURN"},
	restore: `-m length --length 1:9 -j RETURN`,
	save:    `-m length --length 1:9 -j RETURN`,
}}

func TestRulesAreWrittenInBothForms(t *testing.T) {
	for _, row := range ruleRows {
		t.Run(row.name, func(t *testing.T) {
			if got, want := row.rule.Restore("X"), strings.TrimRight("-A X "+row.restore, " "); got != want {
				t.Errorf("Restore\n got %s\nwant %s", got, want)
			}
			if got := row.rule.Save(); got != row.save {
				t.Errorf("Save\n got %s\nwant %s", got, row.save)
			}
		})
	}
}
