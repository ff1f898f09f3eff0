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
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
)

var catalogue = datapath.Catalogue()

// tables are all kinds of blocks, by the first path at which each is found.
func tables(t *testing.T) map[string]blocks.Schema {
	t.Helper()
	all, seen := map[string]blocks.Schema{}, map[string]bool{}
	var visit func(path string, s blocks.Schema)
	visit = func(path string, s blocks.Schema) {
		shape := fmt.Sprint(s.Kind, s.AttrNames())
		if path != "" && !seen[shape] {
			seen[shape], all[path] = true, s
		}
		for _, b := range s.Blocks {
			at := strings.TrimPrefix(path+"."+b.Name, ".")
			if !strings.HasSuffix(b.Means, ".") || strings.Count(b.Means, ". ") > 0 {
				t.Errorf("%s: %q is not one sentence", at, b.Means)
			}
			switch {
			case b.Table != nil:
				visit(at, b.Table())
			case at != "locals":
				t.Errorf("%s has no table", at)
			}
		}
	}
	visit("", Reference(catalogue))
	return all
}

func TestEveryAttributeIsDescribed(t *testing.T) {
	for kind, s := range tables(t) {
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
	kept, read := map[string]token.Position{}, map[string]bool{}
	files := token.NewFileSet()
	for _, f := range sources(t, files) {
		isTable := strings.HasSuffix(files.Position(f.Pos()).Filename, "table.go")
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if !isTable {
					break
				}
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
	if len(kept) < 20 {
		t.Errorf("found %d attributes only", len(kept))
	}
}

// sources are the files with tables, and those that read what they keep, other than tests.
func sources(t *testing.T, files *token.FileSet) []*ast.File {
	t.Helper()
	var out []*ast.File
	own, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	about, err := fs.Glob(os.DirFS("."), "claims/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(own, about) {
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
subnet "b" {}
router "r" {
  #[router]
  link "a" {
    #[router.link]
  }
  link "b" { subnet = subnet.b }
}
node "m" {
  #[node]
}
client "d" {
  #[client]
}
network {
  #[network]
  vxlan {
    #[network.vxlan]
  }
}
proxy {
  #[proxy]
  iptables {
    #[proxy.iptables]
  }
}
policies {
  #[policies]
}
dns {
  #[dns]
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
    #[client.port]
    #[pod.port]
  }
}
pod "program" {
  command = ["sleep", "inf"]
  #[pod]
  file "/etc/app.conf" {
    content = "x"
    #[pod.file]
  }
  ready {
    exec = ["true"]
    #[pod.ready]
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
    #[service.port]
  }
}
service "balanced" {
  selector = { app = "b" }
  type     = "LoadBalancer"
  #[service]
  load_balancer {
    #[service.load_balancer]
  }
  port "http" { port = 80 }
}
service "hosted" {
  selector = { app = "b" }
  type     = "LoadBalancer"
  load_balancer {
    on = client.d
    check {
      #[service.load_balancer.check]
    }
  }
  port "http" { port = 8000 }
}
service "sticky" {
  selector = { app = "b" }
  session_affinity {
    #[service.session_affinity]
  }
  port "http" { port = 80 }
}
policy "p" {
  pod_selector = { app = "b" }
  #[policy]
  ingress {
    port {
      port = 80
      #[policy.ingress.port]
    }
  }
}
expect "all is well" {
  from = pod.a
  to   = pod.b
  #[expect]
}
expect "hosts" {
  from = pod.a
  to   = pod.b
  rules {
    on = node.node1
    chain = "x"
    lacks = "y"
    #[expect.rules]
  }
  run {
    on = node.node1
    command = ["true"]
    #[expect.run]
  }
  interface {
    on = node.node1
    name = "cni0"
    #[expect.interface]
  }
  route {
    on = node.node1
    to = "default"
    #[expect.route]
  }
  tracked {
    on = node.node1
    #[expect.tracked]
  }
  seen {
    on = node.node1
    #[expect.seen]
  }
}
fault "blocked" {
  kind = "blocked-port"
  node = node.node1
  port = 8472
  #[fault]
  expect "silence" {
    from    = pod.a
    to      = pod.b
    outcome = "timeout"
    #[expect]
  }
}
expect "http" {
  from = pod.b
  to   = pod.b
  http {
    #[expect.http]
  }
}
`, `
ingress_controller {
  #[ingress_controller]
  service {
    #[ingress_controller.service]
  }
}
node "node1" {}
pod "b" {
  port "http" { port = 80 }
  labels = { app = "b" }
}
service "b" {
  selector = { app = "b" }
  port "http" { port = 80 }
}
ingress "i" {
  #[ingress]
  rule {
    path {
      service = service.b
      #[ingress.rule.path]
    }
  }
}
gateway "g" {
  #[gateway]
  listener "http" {
    #[gateway.listener]
  }
  listener "https" {
    protocol     = "HTTPS"
    certificates = ["s"]
  }
}
reference_grant "g" {
  from = ["default"]
  #[reference_grant]
}
http_route "r" {
  #[http_route]
  parent {
    gateway = "g"
    #[http_route.parent]
  }
  hostnames = ["r.example"]
  rule {
    match {
      method = "GET"
      #[http_route.rule.match]
    }
    request_headers {
      #[http_route.rule.request_headers]
    }
    response_headers {
      #[http_route.rule.response_headers]
    }
    rewrite {
      #[http_route.rule.rewrite]
    }
    backend {
      service = service.b
      #[http_route.rule.backend]
    }
  }
  rule {
    match { path = "/old" }
    redirect {
      #[http_route.rule.redirect]
    }
  }
}
expect "proxied" {
  from = pod.b
  to   = "ingress-controller.ingress:80"
  http {
    proxied_for = "198.51.100.7"
    #[expect.http]
  }
}
`, `
network {
  mode = "canal"
  canal {
    #[network.canal]
  }
}
node "node1" {}
`, `
network {
  mode = "ipip"
  ipip {
    #[network.ipip]
  }
  bgp {
    #[network.bgp]
  }
}
node "node1" {}
`, `
proxy {
  mode = "nftables"
  nftables {
    #[proxy.nftables]
  }
}
node "node1" {}
service "web" {
  port "http" { port = 80 }
}
`, `
proxy {
  mode    = "exec"
  command = ["kube-proxy"]
  #[proxy]
  file "/etc/proxy.conf" {
    content = "x"
    #[proxy.file]
  }
  ready {
    exec = ["true"]
    #[proxy.ready]
  }
}
policies {
  style   = "exec"
  command = ["guard"]
  #[policies]
  file "/etc/guard.conf" {
    content = "x"
    #[policies.file]
  }
  ready {
    exec = ["true"]
    #[policies.ready]
  }
}
node "node1" {}
`, `
proxy {
  mode = "ipvs"
  ipvs {
    #[proxy.ipvs]
  }
}
node "node1" {}
service "remote" {
  port "http" { port = 80 }
  endpoint {
    address = "192.168.0.77"
    #[service.endpoint]
  }
}
`}

// A default in the table is what holds if the attribute is not written: with it written
// out, the lab is the same, wherever the attribute makes sense.
func TestDescribedDefaultsHold(t *testing.T) {
	for kind, table := range tables(t) {
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
	for _, f := range s.Faults { // the nodes are in the plan
		f.Node, f.Towards = nil, nil
	}
	return outcome{fmt.Sprint(p.Text()), s.Expects}, nil
}
