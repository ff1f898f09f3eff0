package flat

import (
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// remember adds the chains of a service port whose clients stay with their endpoints. What
// a map remembers would outlive the endpoint, so each endpoint has a set of its clients, as
// in kube-proxy's own layout, and a chain that adds them.
func (c *compiler) remember(p *service.Port) {
	name := affinityName(p)
	client := []nft.Field{c.src()}
	chains := map[*topology.Endpoint]string{}
	for _, e := range p.All {
		text := name + "__" + strings.ReplaceAll(e.Addr.Addr().String(), ":", ".") + "/" + strconv.Itoa(int(e.Addr.Port()))
		set := nft.Set{Name: "affinity-" + text, Key: c.clusterIPs.Key, Timeout: uint32(p.Service.AffinitySeconds), Origin: p.Origin()}
		c.table.Sets = append(c.table.Sets, set)
		chains[e] = "endpoint-" + text
		c.serve(chains[e], p.Origin(), []nft.Expr{nft.Update{Fields: client, Set: set.Name}},
			[]nft.Expr{nft.Match{Field: nft.L4Proto, Value: nft.Protocol(string(p.Port.Protocol))},
				nft.DNAT{IPv6: c.ipv6, To: nft.Addr(e.Addr.Addr()), Port: e.Addr.Port(), OneFamily: true}})
	}
	choose := func(chain string, list []*topology.Endpoint) {
		var rules [][]nft.Expr
		var turns []nft.Element
		for i, e := range list {
			to := nft.Verdict{Kind: "goto", Chain: chains[e]}
			rules = append(rules, []nft.Expr{nft.Lookup{Fields: client, Set: strings.Replace(chains[e], "endpoint-", "affinity-", 1)}, to})
			turns = append(turns, nft.Element{Key: []nft.Value{nft.Number(uint32(i))}, Verdict: to})
		}
		if turns != nil {
			c.serve(chain, p.Origin(), append(rules, []nft.Expr{nft.VMap{Fields: []nft.Field{nft.Random(len(turns))}, Elements: turns}})...)
		}
	}
	choose("cluster-"+name, p.Cluster)
	choose("local-"+name, p.Local)
}

// affinityName is in the names of a service port's own chains.
func affinityName(p *service.Port) string {
	return p.Service.Namespace + "/" + p.Service.Name + "/" + string(p.Port.Protocol) + "/" + p.Port.Name
}

// serve adds a chain of a service.
func (c *compiler) serve(name string, o plan.Origin, rules ...[]nft.Expr) {
	c.add(name, rules...)
	added := c.table.Chains[len(c.table.Chains)-1].Rules
	for i := range added {
		added[i].Origin = o
	}
}
