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
	s := randomIn(seed, datapath.ClusterModes())
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 1))}
	d.namespaces(s)
	s = append(s, block{header: `namespace "other"`, lines: []string{`labels = { team = "red" }`}})
	options := block{header: "policies"}
	options.add("style = %q", style)
	deny := pick(d, "drop", "reject")
	if strings.Contains(s.String(), `router "`) {
		deny = "drop" // routers filter errors by their source, which meaning does not know
	}
	options.add("deny = %q", deny)
	if d.one(4) {
		options.add(`host_egress = "enforce"`)
	}
	if d.one(6) {
		options.add(`live = "cut"`)
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

// policyStyles are the styles that conform: legacy has known faults, which its
// documentation names.
func policyStyles() []string {
	var list []string
	for _, s := range datapath.Styles() {
		if s.Conforms {
			list = append(list, s.Name)
		}
	}
	return list
}

// namespaces moves some pods and services to another namespace, except pods that
// endpoint blocks name.
func (d *dice) namespaces(s script) {
	for i := range s {
		kind, name, _ := strings.Cut(s[i].header, " ")
		named := slices.ContainsFunc(s, func(b block) bool {
			return strings.Contains(strings.Join(b.lines, " "), "pod."+strings.Trim(name, `"`)+"\n")
		})
		written := slices.ContainsFunc(s[i].lines, func(line string) bool { return strings.HasPrefix(line, "endpoint") })
		if (kind == "pod" && !named || kind == "service" && !written) && d.one(5) {
			s[i].add(`namespace = "other"`)
		}
	}
}

func (d *dice) selector() string {
	return pick(d, `{}`, `{ app = "a" }`, `{ app = "b" }`, `{ match_expressions = [{ key = "app", operator = "NotIn", values = ["a"] }] }`)
}

func (d *dice) namespaceSelector() string {
	return pick(d, `{}`, `{}`, `{ team = "red" }`, `{ "kubernetes.io/metadata.name" = "default" }`)
}

func (d *dice) policy(i int) block {
	b := block{header: fmt.Sprintf("policy \"np%d\"", i)}
	b.add("pod_selector = %s", d.selector())
	if d.one(5) {
		b.add(`namespace = "other"`)
	}
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
			text += fmt.Sprintf("%s {\nnamespace_selector = %s\n%s}\n", word, d.namespaceSelector(), pick(d, "", "", "pod_selector = "+d.selector()+"\n"))
		default:
			cidr := pick(d, "0.0.0.0/0", "192.168.0.0/24", "192.168.0.11/32", "192.168.0.192/26", "10.244.0.0/16", "10.96.0.0/16", "::/0", "fd00:10:244::/56")
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
	b.add("tier = %q", pick(d, "Admin", "Admin", "Baseline"))
	b.add("priority = %d", i)
	b.add("subject {\n%s}", d.clusterPeer())
	for range 1 + d.IntN(3) {
		b.add("ingress {\naction = %q\nfrom {\n%s}\n%s}", pick(d, "Accept", "Deny", "Pass"), d.clusterPeer(), d.ports())
	}
	for range d.IntN(3) {
		to, ports := d.clusterPeer(), d.ports()
		if d.one(2) { // networks allow no named ports
			to = fmt.Sprintf("networks = [%q]\n", pick(d, "0.0.0.0/0", "10.244.0.0/16", "192.168.0.12/32", "::/0"))
			ports = pick(d, "", "port {\nport = 8080\n}\n", "port {\nprotocol = \"udp\"\n}\n")
		}
		b.add("egress {\naction = %q\nto {\n%s}\n%s}", pick(d, "Accept", "Deny", "Pass"), to, ports)
	}
	return b
}

// clusterPeer selects pods, of some namespaces or of all.
func (d *dice) clusterPeer() string {
	text := "pod_selector = " + d.selector() + "\n"
	if d.one(3) {
		text += "namespace_selector = " + d.namespaceSelector() + "\n"
	}
	return text
}

// With any policies the rules of every style do what they mean, also for services,
// nodes and outside clients.
func TestRulesDoWhatPoliciesMean(t *testing.T) {
	for _, style := range policyStyles() {
		t.Run(style, func(t *testing.T) {
			for _, seed := range seeds(*labCount / 2) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					b, err := policyScript(seed, style).build(t)
					if err != nil {
						t.Fatal(err)
					}
					if _, found := b.disputed(); !found {
						return
					}
					b = shrink(t, b, func(b *built) bool {
						_, found := b.disputed()
						return found && b.lab.PolicyOptions.Style.Name == style
					})
					q, _ := b.disputed()
					t.Errorf("-seed %d: %s", seed, b.dispute(q, nil))
				})
			}
		})
	}
}
