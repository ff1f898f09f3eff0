package nftables

import (
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// podChain is the chain of a pod in one direction.
func podChain(p *topology.Pod, d policy.Direction) string {
	return named(string(d), p.Namespace, p.Name)
}

// sectionChain is the chain of a policy in one direction.
func sectionChain(s *policy.Section) string {
	if s.Tier == "" {
		return named("policy-"+string(s.Direction), s.Namespace, s.Name)
	}
	kind := "admin-"
	if s.Tier == topology.BaselineTier {
		kind = "baseline-"
	}
	return named(kind+string(s.Direction), s.Name)
}

// longest is how long a name may be before a hash replaces it: it leaves room for the
// suffixes of set names (NFT_NAME_MAXLEN is 256, with a zero byte).
const longest = 200

// named joins the parts of a name: policy-ingress/default/db.
func named(kind string, parts ...string) string {
	name := kind
	for _, p := range parts {
		name += "/" + p
	}
	if len(name) > longest {
		return kind + "/" + policy.Hash(32, parts...)
	}
	return name
}

// pod adds the chains of a pod, each of which drops what belongs to no connection: so
// are the packets of a connection that was cut, whichever side sends next.
func (c *compiler) pod(p *policy.Pod) {
	o := policy.PodOrigin(p.Pod)
	for _, d := range []policy.Direction{policy.Egress, policy.Ingress} {
		chain := podChain(p.Pod, d)
		c.add(chain, o, "", nft.CTState{States: []string{"invalid"}}, verdict("drop"))
		if s := p.Side(d); !s.Open() {
			c.side(chain, o, s)
		}
	}
}

// side jumps to the policies of one direction of a pod, tier by tier.
func (c *compiler) side(chain string, o plan.Origin, s *policy.Side) {
	c.add(chain, o, "", nft.SetMark{And: ^uint32(accepted | passed)})
	accept := []nft.Expr{marked(accepted), verdict("return")}
	for _, section := range s.Admin {
		c.add(chain, section.Origin, section.Title(), unmarked(accepted|passed), nft.Jump(sectionChain(section)))
	}
	if len(s.Admin) > 0 {
		c.add(chain, o, "", accept...)
	}
	if s.Isolated() {
		for _, section := range s.Network {
			c.add(chain, section.Origin, section.Title(), nft.Jump(sectionChain(section)))
			c.add(chain, section.Origin, "", accept...)
		}
		c.add(chain, o, "isolated, and no rule matched", nft.Goto(deny))
		return
	}
	for _, section := range s.Baseline {
		c.add(chain, section.Origin, section.Title(), unmarked(accepted), nft.Jump(sectionChain(section)))
	}
}

// marked matches packets with all of some bits, unmarked those with none.
func marked(bits uint32) nft.Expr {
	return nft.Match{Field: nft.MetaMark, Mask: bits, Value: nft.Number(bits)}
}

func unmarked(bits uint32) nft.Expr {
	return nft.Match{Field: nft.MetaMark, Mask: bits, Value: nft.Number(0)}
}
