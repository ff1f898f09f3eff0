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
		"node": nodeValue(s.Lab.Nodes[0]), "client": clientValue(s.Lab.Clients[0]), "pod": podValue(s.Lab.Pods[0]), "service": serviceValue(s.Lab.Services[0]),
		"network": networkValue(s.Lab),
	} {
		out[kind] = slices.Sorted(maps.Keys(v.Type().AttributeTypes()))
	}
	return out
}
