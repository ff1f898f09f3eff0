package plan

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

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// ruleRows has at least one row for every type of match and target.
var ruleRows = []ruleRow{{
	name:    "what comes from outside",
	rule:    Rule{Matches: []Match{PhysdevIsIn{Not: true}, AddrType{Src: "LOCAL", NotSrc: true}}, Target: Accept{}},
	restore: `-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT`,
	save:    `-m physdev ! --physdev-is-in -m addrtype ! --src-type LOCAL -j ACCEPT`,
}, {
	name: "a kube-proxy service rule",
	rule: Rule{Matches: []Match{Comment{"default/web:http cluster IP"}, Proto{"tcp"},
		Dst{Prefix: prefix("10.96.1.1/32")}, DPort{80}, Src{prefix("10.244.0.0/16"), true}},
		Target: Jump{"KUBE-MARK-MASQ"}},
	restore: `-m comment --comment "default/web:http cluster IP" -m tcp -p tcp -d 10.96.1.1 --dport 80 ! -s 10.244.0.0/16 -j KUBE-MARK-MASQ`,
	save:    `! -s 10.244.0.0/16 -d 10.96.1.1/32 -p tcp -m comment --comment "default/web:http cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ`,
}, {
	name:    "a comment of one word is written bare",
	rule:    Rule{Matches: []Match{Comment{"default/web:http"}, Proto{"udp"}, DPort{30000}}, Target: Jump{"KUBE-MARK-MASQ"}},
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
	name:    "noting a source address",
	rule:    Rule{Matches: []Match{Comment{"x"}, Recent{List: "KUBE-SEP-A", Set: true}, Proto{"sctp"}}, Target: DNAT{netip.MustParseAddrPort("10.244.1.2:8080")}},
	restore: `-m comment --comment x -m recent --name KUBE-SEP-A --set -m sctp -p sctp -j DNAT --to-destination 10.244.1.2:8080`,
	save:    `-p sctp -m comment --comment x -m recent --set --name KUBE-SEP-A --mask 255.255.255.255 --rsource -m sctp -j DNAT --to-destination 10.244.1.2:8080`,
}, {
	name:    "a source address that was noted lately",
	rule:    Rule{Matches: []Match{Recent{List: "KUBE-SEP-A", Seconds: 10800, Reap: true}}, Target: Return{}},
	restore: `-m recent --name KUBE-SEP-A --rcheck --seconds 10800 --reap -j RETURN`,
	save:    `-m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-A --mask 255.255.255.255 --rsource -j RETURN`,
}, {
	name:    "a source address that was ever noted",
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
	rule:    Rule{Matches: []Match{OutIf{"eth0", true}, InIf{"veth+", false}, Src{prefix("0.0.0.0/0"), false}}, Target: Accept{}},
	restore: `! -o eth0 -i veth+ -s 0.0.0.0/0 -j ACCEPT`,
	save:    `-i veth+ ! -o eth0 -j ACCEPT`,
}, {
	name:    "an unmasked network",
	rule:    Rule{Matches: []Match{Proto{"icmp"}, Dst{prefix("10.1.2.3/8"), true}}, Target: Drop{}},
	restore: `-p icmp ! -d 10.1.2.3/8 -j DROP`,
	save:    `! -d 10.0.0.0/8 -p icmp -j DROP`,
}, {
	name:    "a rule without target",
	rule:    Rule{Matches: []Match{Comment{"only counts"}, Proto{"sctp"}, DPort{9}}},
	restore: `-m comment --comment "only counts" -m sctp -p sctp --dport 9`,
	save:    `-p sctp -m comment --comment "only counts" -m sctp --dport 9`,
}, {
	name:    "a rule without anything",
	rule:    Rule{},
	restore: ``,
	save:    ``,
}, {
	name:    "destination NAT",
	rule:    Rule{Matches: []Match{Proto{"tcp"}}, Target: DNAT{netip.MustParseAddrPort("10.244.1.2:8080")}},
	restore: `-m tcp -p tcp -j DNAT --to-destination 10.244.1.2:8080`,
	save:    `-p tcp -m tcp -j DNAT --to-destination 10.244.1.2:8080`,
}, {
	name:    "masquerade",
	rule:    Rule{Matches: []Match{Src{prefix("10.244.0.0/16"), false}, Dst{prefix("224.0.0.0/4"), true}}, Target: Masquerade{RandomFully: true}},
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
	rule:    Rule{Matches: []Match{Proto{"tcp"}}, Target: Reject{"tcp-reset"}},
	restore: `-m tcp -p tcp -j REJECT --reject-with tcp-reset`,
	save:    `-p tcp -m tcp -j REJECT --reject-with tcp-reset`,
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
