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

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
)

var catalogue = datapath.Catalogue()

// tables are all kinds of blocks, by the name that they have in the scenarios below.
var tables = map[string]blocks.Shape{
	"netlab": &netlabBody{}, "variable": &variableBody{}, "validation": &validationBody{}, "matrix": &matrixBody{},
	"network": &networkBody{catalogue: catalogue}, "proxy": &proxyBody{catalogue: catalogue},
	"node": &nodeBody{}, "client": &clientBody{}, "namespace": &namespaceBody{}, "pod": &podBody{}, "port": &portBody{}, "link": &linkBody{},
	"service": &serviceBody{}, "load_balancer": &loadBalancerBody{}, "session_affinity": &sessionAffinityBody{}, "endpoint": &endpointBody{},
	"hints": &hintsBody{}, "service selector": &serviceSelectorBody{}, "service port": &servicePortBody{},
	"policies": &policiesBody{catalogue: catalogue}, "policy": &policyBody{}, "cluster_policy": &clusterPolicyBody{}, "rule": &ruleBody{peers: "from", cluster: true},
	"from": &peerBody{kind: "from"}, "ip_block": &ipBlockBody{}, "policy port": &policyPortBody{},
	"selector": &labelSelectorBody{}, "match_expressions": &expressionBody{},
	"expect": &expectBody{}, "latency": &boundBody{what: "latency"}, "http": &httpBody{}, "spread": &spreadBody{},
}

func init() {
	for _, m := range catalogue.Networks {
		tables[m.Name] = &networkModeBody{mode: m}
	}
	for _, m := range catalogue.Proxies {
		tables[m.Name] = &proxyModeBody{mode: m}
	}
}

func TestEveryAttributeIsDescribed(t *testing.T) {
	for kind, table := range tables {
		s := table.Schema()
		fields := map[any]string{}
		for _, a := range s.Attrs {
			switch {
			case a.Name == "" || a.Holds == "":
				t.Errorf("%s: attribute %q of type %q", kind, a.Name, a.Holds)
			case a.At == nil: // planned
			case !strings.HasSuffix(a.Means, ".") || strings.Count(a.Means, ". ") > 0:
				t.Errorf("%s: %s: %q is not one sentence", kind, a.Name, a.Means)
			case fields[a.At] != "":
				t.Errorf("%s: %s and %s have one field", kind, fields[a.At], a.Name)
			}
			fields[a.At] = a.Name
		}
	}
}

// An attribute in a table that no code reads would be accepted in a scenario, and do nothing.
func TestEveryAttributeIsRead(t *testing.T) {
	declared, bound, read, listed := map[string]token.Position{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, table := range tables {
		listed[reflect.TypeOf(table).Elem().Name()] = true
	}
	files := token.NewFileSet()
	for _, f := range sources(t, files) {
		isTable := strings.HasSuffix(files.Position(f.Pos()).Filename, "table.go")
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				body, ok := n.Type.(*ast.StructType)
				if !ok || !isTable {
					break
				}
				if !listed[n.Name.Name] {
					t.Errorf("%s: %s is not among the tables of this test", files.Position(n.Pos()), n.Name.Name)
				}
				for _, field := range body.Fields.List {
					if _, pointer := field.Type.(*ast.StarExpr); pointer {
						for _, name := range field.Names {
							declared[name.Name] = files.Position(name.Pos())
						}
					}
				}
			case *ast.SelectorExpr:
				if isTable {
					bound[n.Sel.Name] = true
				} else {
					read[n.Sel.Name] = true
				}
			}
			return true
		})
	}
	for name, at := range declared {
		// The axes of a matrix are read by their table (evalMatrix).
		if axis := strings.Contains(filepath.Base(at.Filename), "lab") && isAxis(name); !read[name] && !axis {
			t.Errorf("%s: nothing reads %s: evaluate it, or remove it from the table", at, name)
		}
		if !bound[name] {
			t.Errorf("%s: %s is in no table: name and describe the attribute there", at, name)
		}
	}
	if len(declared) < 50 {
		t.Errorf("found %d attributes only", len(declared))
	}
}

func isAxis(field string) bool {
	return field == "network" || field == "proxy" || field == "policies" || field == "ipFamilies"
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
	for kind, table := range tables {
		for _, a := range table.Schema().Attrs {
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
