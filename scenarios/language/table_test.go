package language

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

var catalogue = datapath.Catalogue()

// tables are all kinds of blocks, by the name that they have in the scenarios below.
func tables() map[string]blocks.Schema {
	l := &loader{catalogue: catalogue, spec: new(topology.Spec)}
	service := new(topology.ServiceSpec)
	all := map[string]blocks.Schema{
		"netlab": l.netlabTable(new(topology.Opt[string]), new(topology.Opt[string])), "variable": new(variableBody).table(), "validation": validationTable(new(*hcl.Attribute), new(*hcl.Attribute)),
		"matrix": l.matrixTable(), "network": l.networkTable(new(topology.NetworkSpec)), "proxy": l.proxyTable(new(topology.ProxySpec)),
		"node": l.nodeTable(new(topology.NodeSpec)), "client": l.clientTable(new(topology.ClientSpec)), "namespace": namespaceTable(new(topology.NamespaceSpec)),
		"pod": l.podTable(new(topology.PodSpec)), "file": l.fileTable(new(topology.FileSpec)), "ready": l.readyTable(new(topology.ReadySpec)), "port": portTable(new(topology.PortSpec)), "link": linkTable(new(topology.LinkSpec)),
		"service": serviceTable(service), "load_balancer": loadBalancerTable(service, new(*hcl.Attribute), new(*hcl.Attribute)), "session_affinity": sessionAffinityTable(service),
		"endpoint": endpointTable(new(topology.EndpointSpec)), "hints": hintsTable(new(topology.EndpointSpec)),
		"service selector": serviceSelectorTable(service), "service port": servicePortTable(new(topology.ServicePortSpec)),
		"policies": l.policiesTable(new(topology.PoliciesSpec)), "policy": policyTable(new(topology.PolicySpec)),
		"cluster_policy": clusterPolicyTable(new(topology.ClusterPolicySpec)), "rule": ruleTable(new(topology.PolicyRuleSpec), "from", true),
		"from": peerTable(new(topology.PeerSpec), "from"), "ip_block": ipBlockTable(new(topology.PeerSpec), new(*hcl.Attribute)), "policy port": policyPortTable(new(topology.PolicyPortSpec)),
		"selector": selectorTable(new(topology.SelectorSpec)), "match_expressions": expressionTable(new(topology.ExpressionSpec)),
		"expect": new(expectBody).table(), "latency": new(boundBody).table("latency"), "spread": new(spreadBody).table(),
		"http": httpTable(new(topology.Opt[string]), new(topology.Opt[int]), new(map[string]string)),
	}
	for _, m := range catalogue.Networks {
		all[m.Name] = networkModeTable(m, new(topology.VXLANSpec))
	}
	for _, m := range catalogue.Proxies {
		all[m.Name] = proxyModeTable(m, new(topology.ProxySpec))
	}
	return all
}

func TestEveryAttributeIsDescribed(t *testing.T) {
	for kind, s := range tables() {
		places := map[any]string{}
		for _, a := range s.Attrs {
			switch {
			case a.Name == "":
				t.Errorf("%s: an attribute without name", kind)
			case a.At == nil: // planned
			case a.Type() == "":
				t.Errorf("%s: %s has no type", kind, a.Name)
			case !strings.HasSuffix(a.Means, ".") || strings.Count(a.Means, ". ") > 0:
				t.Errorf("%s: %s: %q is not one sentence", kind, a.Name, a.Means)
			}
			if at := reflect.ValueOf(a.At); at.Kind() == reflect.Pointer {
				if places[a.At] != "" {
					t.Errorf("%s: %s and %s go to one place", kind, places[a.At], a.Name)
				}
				places[a.At] = a.Name
			}
		}
	}
}

// An attribute that its table keeps as it is written, and that no code reads, would be
// accepted in a scenario, and do nothing.
func TestEveryAttributeIsRead(t *testing.T) {
	functions, kept, read := map[string]bool{}, map[string]token.Position{}, map[string]bool{}
	files := token.NewFileSet()
	for _, f := range sources(t, files) {
		isTable := strings.HasSuffix(files.Position(f.Pos()).Filename, "table.go")
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if strings.HasSuffix(n.Name.Name, "Table") {
					functions[n.Name.Name] = true
				}
			case *ast.TypeSpec:
				if !isTable {
					break
				}
				functions[n.Name.Name] = true
				for _, field := range n.Type.(*ast.StructType).Fields.List {
					for _, name := range field.Names {
						kept[name.Name] = files.Position(name.Pos())
					}
				}
			case *ast.SelectorExpr:
				if !isTable {
					read[n.Sel.Name] = true
				}
			}
			return true
		})
	}
	for name, at := range kept {
		if !read[name] {
			t.Errorf("%s: nothing reads %s: evaluate it, or remove it from the table", at, name)
		}
	}
	test, err := os.ReadFile("table_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for name := range functions {
		if !strings.Contains(string(test), name+"(") && !strings.Contains(string(test), "new("+name+")") {
			t.Errorf("%s is not among the tables of this test", name)
		}
	}
	if len(kept) < 20 {
		t.Errorf("found %d attributes only", len(kept))
	}
}

// sources are the files of this package other than tests.
func sources(t *testing.T, files *token.FileSet) []*ast.File {
	t.Helper()
	var out []*ast.File
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// defaultsIn are scenarios in which each kind of block has a line of its own for an
// attribute, marked by the kind in brackets.
var defaultsIn = []string{`
network {
  #[network]
  vxlan {
    #[vxlan]
  }
}
proxy {
  #[proxy]
  iptables {
    #[iptables]
  }
}
policies {
  #[policies]
}
variable "v" {
  default = "x"
  #[variable]
}
node "node1" {}
node "node2" {}
pod "a" {
  #[pod]
  port "http" {
    port = 80
    #[port]
  }
}
pod "program" {
  command = ["sleep", "inf"]
  #[pod]
  file "/etc/app.conf" {
    content = "x"
    #[file]
  }
  ready {
    exec = ["true"]
    #[ready]
  }
}
pod "b" {
  port "http" { port = 80 }
  labels = { app = "b" }
}
service "b" {
  selector = { app = "b" }
  #[service]
  port "http" {
    port = 80
    #[service port]
  }
}
service "balanced" {
  selector = { app = "b" }
  type     = "LoadBalancer"
  #[service]
  load_balancer {
    #[load_balancer]
  }
  port "http" { port = 80 }
}
service "sticky" {
  selector = { app = "b" }
  session_affinity {
    #[session_affinity]
  }
  port "http" { port = 80 }
}
policy "p" {
  pod_selector = { app = "b" }
  #[policy]
  ingress {
    port {
      port = 80
      #[policy port]
    }
  }
}
expect "all is well" {
  from = pod.a
  to   = pod.b
  #[expect]
}
expect "http" {
  from = pod.b
  to   = pod.b
  http {
    #[http]
  }
}
`, `
proxy {
  mode = "ipvs"
  ipvs {
    #[ipvs]
  }
}
node "node1" {}
service "remote" {
  port "http" { port = 80 }
  endpoint {
    address = "192.168.0.77"
    #[endpoint]
  }
}
`}

// A default in the table is what holds if the attribute is not written: with it written
// out, the lab is the same, wherever the attribute makes sense.
func TestDescribedDefaultsHold(t *testing.T) {
	for kind, table := range tables() {
		for _, a := range table.Attrs {
			if a.Default == "" {
				continue
			}
			tried := 0
			for _, scenario := range defaultsIn {
				plain, err := ledTo(t, scenario)
				if err != nil {
					t.Fatal(err)
				}
				pieces := strings.Split(scenario, "#["+kind+"]")
				for i := 1; i < len(pieces); i++ {
					text := strings.Join(pieces[:i], "") + a.Name + " = " + a.Default + strings.Join(pieces[i:], "")
					with, err := ledTo(t, text)
					if err != nil {
						continue // it makes no sense in this block
					}
					if tried++; !reflect.DeepEqual(plain, with) {
						t.Errorf("%s: with %s = %s the lab differs", kind, a.Name, a.Default)
					}
				}
			}
			if tried == 0 {
				t.Errorf("%s: no scenario of this test accepts %s = %s at the line #[%s]", kind, a.Name, a.Default, kind)
			}
		}
	}
}

// outcome is what a scenario results in.
type outcome struct {
	plan    string
	expects []*expect.Reach
}

func ledTo(t *testing.T, text string) (outcome, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lab.hcl")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s, diags := Load(file, Options{Catalogue: catalogue})
	if diags.HasErrors() {
		return outcome{}, fmt.Errorf("%s\n%s", diagnosticsText(diags), text)
	}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{fmt.Sprint(p.Text()), s.Expects}, nil
}
