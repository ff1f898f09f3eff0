package suite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/walk"
)

// Removing each of these rules is noticed: those whose chain begins with the prefix and
// whose text has all the words.
func TestMistakesInPolicyRulesAreNoticed(t *testing.T) {
	const enough = 140 // labs of each style
	const all = ""
	for style, rows := range map[string][]struct {
		name, chain string
		has         []string
	}{
		"kube-router": {
			{"nothing is allowed", "KUBE-NWPLCY-IN-", []string{"--or-mark 0x10000"}},
			{"nothing may leave", "KUBE-NWPLCY-EG-", []string{"--or-mark 0x10000"}},
			{"nothing is denied", "KUBE-POD-FW-", []string{"denied by"}},
			{"the sender's policies are skipped", "KUBE-ROUTER-FORWARD", []string{" -s "}},
			{"the receiver's policies are skipped", "KUBE-ROUTER-FORWARD", []string{" -d "}},
			{"the node is denied", "KUBE-POD-FW-", []string{"--src-type LOCAL"}},
			{"pods do not reach themselves", "KUBE-POD-FW-", []string{"reach itself"}},
			{"pods that are not isolated are closed", "KUBE-POD-FW-", []string{"KUBE-NWPLCY-DEFAULT"}},
			{"known connections are denied", "KUBE-NWPLCY-COMMON", []string{"ESTABLISHED"}},
			{"marks are not cleared", "KUBE-POD-FW-", []string{"MARK --set-mark 0x0/0x10000"}},
			{"no Admin tier", "KUBE-POD-FW-", []string{"KUBE-ADMPOL-"}},
			{"Pass of the Admin tier has no effect", "KUBE-ADMPOL-", []string{"--or-mark 0x40000"}},
			{"no Baseline tier", "KUBE-POD-FW-", []string{"KUBE-BASPOL-"}},
			{"cluster policies deny nothing", "KUBE-NWPLCY-DENY", nil},
			{"services of IPVS count as the node", "KUBE-ROUTER-INPUT", []string{"-j RETURN"}},
			{"nothing is enforced towards the node", "INPUT", []string{"KUBE-ROUTER-INPUT"}},
			{"services of IPVS are not filtered", "OUTPUT", []string{"KUBE-ROUTER-OUTPUT"}},
		},
		"calico": {
			{"nothing is allowed", "cali-pi-", []string{"0x10000/0x10000", "--set-mark"}},
			{"nothing may leave", "cali-po-", []string{"0x10000/0x10000", "--set-mark"}},
			{"nothing inbound is denied", "cali-tw-", []string{"policies passed"}},
			{"nothing outbound is denied", "cali-fw-", []string{"policies passed"}},
			{"the sender's policies are skipped", "cali-FORWARD", []string{"cali-from-wl-dispatch"}},
			{"the receiver's policies are skipped", "cali-FORWARD", []string{"cali-to-wl-dispatch"}},
			{"pods do not reach themselves", "cali-", []string{" -s ", " -d ", "-j RETURN"}},
			{"no profile accepts", "cali-pr", []string{"--set-mark"}},
			{"exceptions of blocks do not count", "cali-p", []string{"--set-mark 0x0/0x40000"}},
			{"several kinds of ports do not match", "cali-p", []string{"-m multiport", "0x40000/0x40000"}},
			{"known connections are denied", "cali-", []string{"ESTABLISHED"}},
			{"marks are not cleared", "cali-", []string{"--set-mark 0x0/0x10000"}},
			{"no policy is final", "cali-", []string{"Return if policy accepted"}},
			{"cluster policies deny nothing", "cali-", []string{"policy denied"}},
			{"services of IPVS count as the node", "cali-INPUT", []string{"-j RETURN"}},
			{"nothing is enforced towards the node", "INPUT", []string{"cali-INPUT"}},
			{"services of IPVS are not filtered", "OUTPUT", []string{"cali-OUTPUT"}},
			{"the node is denied by its services of IPVS", "cali-OUTPUT", []string{"cali-to-wl-dispatch"}},
		},
		"nftables": {
			{"nothing is allowed", "policy-ingress/", nil},
			{"nothing may leave", "policy-egress/", nil},
			{"nothing inbound is denied", "ingress/", []string{"isolated"}},
			{"nothing outbound is denied", "egress/", []string{"isolated"}},
			{"the sender's policies are skipped", "pods", []string{"vmap @egress"}},
			{"the receiver's policies are skipped", "pods", []string{"vmap @ingress"}},
			{"pods do not reach themselves", "pods", []string{"itself"}},
			{"known connections are denied", "pods", []string{"established"}},
			{"no policy is final", all, []string{"mark & 0x00010000 == 0x00010000 return"}},
			{"no Admin tier", "ingress/", []string{"jump admin-"}},
			{"no Baseline tier", "ingress/", []string{"jump baseline-"}},
			{"services of IPVS count as the node", "input", []string{"services"}},
			{"nothing is enforced towards the node", "input", []string{"vmap"}},
			{"services of IPVS are not filtered", "output", []string{"jump pods"}},
			{"the node's own traffic to itself is filtered", "output", []string{"fib"}},
		},
	} {
		t.Run(style, func(t *testing.T) {
			var labs []*built
			for seed := range uint64(enough) {
				b, err := policyScript(seed+1, style).build(t)
				if err != nil {
					t.Fatal(err)
				}
				labs = append(labs, b)
			}
			for _, row := range rows {
				t.Run(row.name, func(t *testing.T) {
					t.Parallel()
					wrong := func(chain, text string) bool {
						return strings.HasPrefix(chain, row.chain) && !slices.ContainsFunc(row.has, func(w string) bool { return !strings.Contains(text, w) })
					}
					missing := 0
					for _, b := range labs {
						damaged := *b
						var n int
						damaged.plan, n = withoutText(b.plan, wrong)
						missing += n
						damaged.world = walk.New(damaged.plan)
						if n > 0 {
							if _, found := damaged.disputed(); found {
								return
							}
						}
					}
					t.Errorf("not noticed in %d labs: %d rules are missing", enough, missing)
				})
			}
		})
	}
}

// withoutText returns a plan without the rules that match, of iptables and of
// nf_tables, and how many were removed.
func withoutText(p *plan.Plan, wrong func(chain, text string) bool) (*plan.Plan, int) {
	missing := 0
	counted := func(chain, text string) bool {
		is := wrong(chain, text)
		if is {
			missing++
		}
		return is
	}
	out := mistake(func(chain string, r iptables.Rule) bool { return counted(chain, r.Restore(chain)) }).without(p)
	for i := range out.Netns {
		n := &out.Netns[i]
		n.NFT = slices.Clone(n.NFT)
		for j := range n.NFT {
			n.NFT[j].Chains = slices.Clone(n.NFT[j].Chains)
			for k := range n.NFT[j].Chains {
				c := &n.NFT[j].Chains[k]
				c.Rules = slices.DeleteFunc(slices.Clone(c.Rules), func(r nft.Rule) bool { return counted(c.Name, r.Words()) })
			}
		}
	}
	return out, missing
}
