package language

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/topology"
)

// one is a lab with an object of each kind.
const one = `
subnet "b" {}
router "r" {
  link "a" {}
  link "b" { subnet = subnet.b }
}
node "n" {}
client "c" {}
pod "p" {
  port "http" { port = 80 }
}
service "s" {
  type     = "LoadBalancer"
  selector = { app = "p" }
  port "http" { port = 80 }
}
`

// Attributes are the names that expressions can use of an object of each kind, sorted: ip
// of node.NAME, for example.
func Attributes(c topology.Catalogue) map[string][]string {
	s, diags := Load("-", Options{Catalogue: c, Stdin: strings.NewReader(one)})
	if diags.HasErrors() {
		panic(diags) // it is tested
	}
	out := map[string][]string{}
	for kind, v := range map[string]cty.Value{
		"node": nodeValue(s.Lab.Nodes[0]), "client": clientValue(s.Lab.Clients[0]), "pod": podValue(s.Lab.Pods[0]), "service": serviceValue(s.Lab.Services[0], s.Lab.Domain()),
		"network": networkValue(s.Lab), "proxy": proxyValue(s.Lab), "policies": policiesValue(s.Lab), "subnet": subnetValue(s.Lab.Subnets[0]), "router": routerValue(s.Lab.Routers[0]),
	} {
		out[kind] = slices.Sorted(maps.Keys(v.Type().AttributeTypes()))
	}
	return out
}
