package suite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
)

// policyScript is a random lab with random policies, in one of the styles.
func policyScript(seed uint64, style string) script {
	s := randomScript(seed)
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 1))}
	ipvs := slices.Contains(s[1].lines, `mode = "ipvs"`)
	if ipvs && style == "kube-router" {
		// It accepts what a node sends to its pods for good, so that the source ranges,
		// which IPVS checks behind, do not hold for it yet.
		for i := range s {
			s[i].lines = slices.DeleteFunc(s[i].lines, func(line string) bool { return strings.HasPrefix(line, "load_balancer_source_ranges") })
		}
	}
	options := block{header: "policies"}
	options.add("style = %q", style)
	options.add("deny = %q", pick(d, "drop", "reject"))
	if d.one(4) && !ipvs {
		// With IPVS the styles do not tell services from the node at INPUT yet.
		options.add(`host_egress = "enforce"`)
	}
	s = append(s, options)
	for i := range 1 + d.IntN(3) {
		s = append(s, d.policy(i+1))
	}
	for i := range d.IntN(3) {
		s = append(s, d.clusterPolicy(i+1))
	}
	return s
}

func (d *dice) selector() string {
	return pick(d, `{}`, `{ app = "a" }`, `{ app = "b" }`, `{ match_expressions = [{ key = "app", operator = "NotIn", values = ["a"] }] }`)
}

func (d *dice) policy(i int) block {
	b := block{header: fmt.Sprintf("policy \"np%d\"", i)}
	b.add("pod_selector = %s", d.selector())
	if d.one(2) {
		b.add("policy_types = %s", pick(d, `["Ingress"]`, `["Egress"]`, `["Ingress", "Egress"]`))
	}
	for range d.IntN(3) {
		b.add("%s", "ingress {\n"+d.peers("from")+d.ports()+"}")
	}
	for range d.IntN(3) {
		b.add("%s", "egress {\n"+d.peers("to")+d.ports()+"}")
	}
	return b
}

// peers are those of a rule of a policy.
func (d *dice) peers(word string) string {
	text := ""
	for range d.IntN(3) {
		switch d.IntN(3) {
		case 0:
			text += fmt.Sprintf("%s {\npod_selector = %s\n}\n", word, d.selector())
		case 1:
			text += fmt.Sprintf("%s {\nnamespace_selector = {}\n}\n", word)
		default:
			cidr := pick(d, "0.0.0.0/0", "192.168.0.0/24", "192.168.0.11/32", "192.168.0.192/26", "10.244.0.0/16", "10.96.0.0/16", "::/0")
			except := ""
			if cidr == "0.0.0.0/0" && d.one(2) {
				except = "except = [" + pick(d, `"10.244.1.0/24"`, `"192.168.0.0/28", "10.0.0.0/8"`) + "]\n"
			}
			text += fmt.Sprintf("%s {\nip_block {\ncidr = %q\n%s}\n}\n", word, cidr, except)
		}
	}
	return text
}

func (d *dice) ports() string {
	text := ""
	for range d.IntN(3) {
		text += "port {\n" + pick(d, "port = 8080", "port = \"http\"", "port = \"dns\"\nprotocol = \"udp\"", "protocol = \"udp\"", "port = 8000\nend_port = 9500", "port = 80", "") + "\n}\n"
	}
	return text
}

func (d *dice) clusterPolicy(i int) block {
	b := block{header: fmt.Sprintf("cluster_policy \"cp%d\"", i)}
	b.add("tier = %q", pick(d, "Admin", "Baseline"))
	b.add("priority = %d", i)
	b.add("subject {\npod_selector = %s\n}", d.selector())
	for range 1 + d.IntN(2) {
		b.add("ingress {\naction = %q\nfrom {\npod_selector = %s\n}\n%s}", pick(d, "Accept", "Deny", "Pass"), d.selector(), d.ports())
	}
	if d.one(2) {
		b.add("egress {\naction = %q\nto {\nnetworks = [%q]\n}\n}", pick(d, "Accept", "Deny", "Pass"), pick(d, "0.0.0.0/0", "10.244.0.0/16", "192.168.0.12/32"))
	}
	return b
}

// Whatever the policies of a lab are, the rules of every style do what they mean, for
// services, nodes and the outside, too.
func TestRulesDoWhatPoliciesMean(t *testing.T) {
	for _, style := range datapath.Styles() {
		if style.Name() == "legacy" {
			continue // it has faults, which its documentation names
		}
		t.Run(style.Name(), func(t *testing.T) {
			for _, seed := range seeds(*labCount / 2) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					b, err := policyScript(seed, style.Name()).build(t)
					if err != nil {
						t.Fatal(err)
					}
					if _, found := b.disputed(); !found {
						return
					}
					b = shrink(t, b, func(b *built) bool { _, found := b.disputed(); return found })
					q, _ := b.disputed()
					t.Errorf("%s", b.dispute(q, nil))
				})
			}
		})
	}
}
