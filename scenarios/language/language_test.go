package language

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// loadText loads native source, and fails the test on any diagnostic.
func loadText(t *testing.T, src string, opts Options) *Scenario {
	t.Helper()
	opts.Catalogue, opts.Stdin = datapath.Catalogue(), strings.NewReader(src)
	s, diags := Load("-", opts)
	if len(diags) > 0 {
		t.Fatalf("\n%s", diagnosticsText(diags))
	}
	return s
}

func podNamed(t *testing.T, s *Scenario, name string) *topology.Pod {
	t.Helper()
	for _, p := range s.Lab.Pods {
		if p.AgentName() == name {
			return p
		}
	}
	t.Fatalf("no pod %q", name)
	return nil
}

const twoNodes = `
node "node1" { labels = { rack = "a" } }
node "node2" {}
client "laptop" {}
`

func TestExpressionsSeeWhatWasDecidedBefore(t *testing.T) {
	s := loadText(t, twoNodes+`
locals {
  everybody = [for n in node : n.ip]
  late      = "${service.web.cluster_ip}:${local.port}"
  port      = 80
}
namespace "db" {}
pod "web" {
  for_each = { b = node.node2, a = node.node1 }
  node     = each.value
  labels   = { app = "web", key = each.key, first = local.everybody[0], cidr = each.value.pod_cidr }
  port "http" { port = 8080 }
  env = { PEERS = join(",", pod.web[*].ip), VIP = local.late, FQDN = service.web.fqdn, NP = service.web.node_port["http"] }
}
pod "db" {
  count     = 2
  namespace = namespace.db
  node      = node.node1.name
  labels    = { n = count.index, net = network.pod_cidr }
}
pod "one" {
  env = { A = pod.db["1"].ip, B = join(",", pod.db[*].ip), C = pod.web["a"].ip, D = cidrhost(node.node1.pod_cidr, 1), E = client.laptop.ip }
}
service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = 8080
    node_port   = 30080
  }
}
`, Options{})
	a, b, one := podNamed(t, s, "web-a"), podNamed(t, s, "web-b"), podNamed(t, s, "one")
	db0, db1 := podNamed(t, s, "db/db-0"), podNamed(t, s, "db/db-1")
	ip := func(p *topology.Pod) string { return p.Addrs[0].String() }
	vip := s.Lab.Services[0].ClusterIPs[0].String()
	for name, check := range map[string][2]any{
		"nodes":  {[]string{a.Node.Name, b.Node.Name, db1.Node.Name}, []string{"node1", "node2", "node1"}},
		"labels": {b.Labels, map[string]string{"app": "web", "key": "b", "first": "192.168.0.11", "cidr": "10.244.2.0/24"}},
		"count":  {db1.Labels, map[string]string{"n": "1", "net": "10.244.0.0/16"}},
		"late":   {a.Env, map[string]string{"PEERS": ip(a) + "," + ip(b), "VIP": vip + ":80", "FQDN": "web.default.svc.cluster.local", "NP": "30080"}},
		"others": {one.Env, map[string]string{"A": ip(db1), "B": ip(db0) + "," + ip(db1), "C": ip(a), "D": "10.244.1.1", "E": s.Lab.Clients[0].Addrs[0].String()}},
	} {
		if !reflect.DeepEqual(check[0], check[1]) {
			t.Errorf("%s: got %v, want %v", name, check[0], check[1])
		}
	}
}

func TestExpectations(t *testing.T) {
	s := loadText(t, twoNodes+`
pod "web" {
  count  = 2
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}
service "web" {
  selector = { app = "web" }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}
expect "defaults" {
  from   = [client.laptop, pod.web]
  to     = service.web
  source = [each.from.ip, "10.0.0.0/8"]
}
expect "all" {
  from     = node.node1
  to       = ["web:dns", "web.default.svc.cluster.local:53", pod.web[0], "${node.node2.ip}:9", "[::1]:9"]
  port     = 8080
  protocol = "udp"
  outcome  = "refused"
  within   = "250ms"
  retry    = "0s"
  count    = 7
}
expect "from a node" {
  from   = node.node1
  to     = pod.web
  port   = "http"
  answer = pod.web
  source = node.node1
  spread {
    tolerance = 0.25
    weights   = { web-0 = 2, web-1 = 1 }
  }
}
expect "no such name" {
  from    = client.laptop
  to      = "nobody.example:80"
  outcome = "dns"
}
`, Options{})
	laptop := s.Lab.Clients[0].Addrs[0]
	e := s.Expects[0]
	if e.Protocol != "udp" || e.Outcome != "connected" || e.Within != time.Second || e.Retry != 5*time.Second || e.Count != 0 || len(e.From) != 3 ||
		e.From[1].Netns != "pod.web-0" || e.To[0].Addr != netip.AddrPortFrom(s.Lab.Services[0].ClusterIPs[0], 53) ||
		e.Sources[0][0] != netip.PrefixFrom(laptop, 32) || e.Sources[2][0].Addr() != podNamed(t, s, "web-1").Addrs[0] || e.Sources[2][1].String() != "10.0.0.0/8" {
		t.Errorf("got %+v", e)
	}
	e = s.Expects[1]
	var to []string
	for _, x := range e.To {
		to = append(to, x.Addr.String())
	}
	vip, web := s.Lab.Services[0].ClusterIPs[0].String(), podNamed(t, s, "web-0").Addrs[0].String()
	if want := []string{vip + ":53", vip + ":53", web + ":8080", "192.168.0.12:9", "[::1]:9"}; !reflect.DeepEqual(to, want) {
		t.Errorf("got %v, want %v", to, want)
	}
	if e.Protocol != "udp" || e.Outcome != "refused" || e.Within != 250*time.Millisecond || e.Retry != 0 || e.Count != 7 {
		t.Errorf("got %+v", e)
	}
	e = s.Expects[2]
	if fmt.Sprint(e.Sources) != "[[192.168.0.11/32 10.244.1.1/32 10.244.1.0/32]]" || fmt.Sprint(e.Answers) != "[web-0 web-1]" ||
		e.Spread.Tolerance != 0.25 || e.Spread.Weights["web-0"] != 2 {
		t.Errorf("got %+v", e)
	}
	if !s.Expects[3].To[0].NotFound {
		t.Errorf("got %+v", s.Expects[3])
	}
}

func TestDynamicBlocksExpandEverywhere(t *testing.T) {
	s := loadText(t, `
locals {
  racks = { "1" = { a = 80, b = 81 }, "2" = { c = 82 } }
}
dynamic "node" {
  for_each = local.racks
  iterator = rack
  labels   = ["node${rack.key}"]
  content {
    labels = { rack = rack.key }
  }
}
dynamic "pod" {
  for_each = local.racks
  labels   = ["web${pod.key}"]
  content {
    count = length(pod.value)
    node  = "node${pod.key}"
    dynamic "port" {
      for_each = pod.value
      labels   = [port.key]
      content {
        port = port.value + count.index
      }
    }
  }
}
dynamic "expect" {
  for_each = ["250ms"]
  labels   = ["reach"]
  content {
    from   = pod.web2
    to     = pod.web1[1]
    port   = "b"
    within = expect.value
  }
}
`, Options{})
	p := podNamed(t, s, "web1-1")
	if len(s.Lab.Pods) != 3 || p.Node.Labels["rack"] != "1" || len(p.Ports) != 2 || p.Ports[1].Number != 82 || s.Expects[0].To[0].Addr.Port() != 82 ||
		s.Expects[0].Within != 250*time.Millisecond {
		t.Errorf("got %+v, %+v", p, s.Expects[0])
	}
}

func TestVariablesComeFromTheNearestPlace(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lab := write("lab.hcl", `
variable "a" { default = "default" }
variable "b" { default = "default" }
variable "c" { default = "default" }
variable "d" { default = "default" }
variable "n" { default = 1 }
variable "list" { type = list(string) }
variable "loose" { default = ["x"] }
variable "weights" {
  type    = any
  default = { x = 1 }
}
node "node1" {
  labels = { loose = join("-", var.loose), weights = var.weights, a = var.a, b = var.b, c = var.c, d = var.d, n = var.n + 1, list = join("-", var.list) }
}
`)
	write("x.auto.vars.hcl", `
b = "auto"
c = "auto"
d = "auto"
unknown = "ignored beside a single file"
`)
	file := write("given.hcl.vars", `
c = "file"
d = "file"
`)
	opts := Options{
		Catalogue: datapath.Catalogue(),
		Environ:   []string{"NLAB_VAR_a=env", "NLAB_VAR_b=env", "NLAB_VAR_n=41", "a=other", "NLAB_VAR_undeclared=1"},
		VarFiles:  []string{file},
		Vars:      map[string]string{"d": "flag", "list": `["x", "y"]`, "loose": `["y", "z"]`, "weights": "heavy"},
	}
	s, diags := Load(lab, opts)
	if len(diags) > 0 {
		t.Fatalf("\n%s", diagnosticsText(diags))
	}
	want := map[string]string{"a": "env", "b": "auto", "c": "file", "d": "flag", "n": "42", "list": "x-y", "loose": "y-z", "weights": "heavy"}
	if got := s.Lab.Nodes[0].Labels; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	opts.Vars["replica"] = "1"
	if _, diags := Load(lab, opts); !strings.Contains(diagnosticsText(diags), `there is no variable "replica"`) {
		t.Errorf("got\n%s", diagnosticsText(diags))
	}
}

func TestJSONAndNativeSyntaxAreEqual(t *testing.T) {
	dir := t.TempDir()
	native := loadText(t, `
node "node1" {}
pod "web" {
  count = 2
  node  = node.node1
  port "http" { port = 8080 }
}
expect "reach" {
  from = node.node1
  to   = pod.web
}
`, Options{})
	path := filepath.Join(dir, "stdin.hcl.json")
	src := `{
  "node": {"node1": {}},
  "pod": {"web": {"count": 2, "node": "${node.node1}", "port": {"http": {"port": 8080}}}},
  "expect": {"reach": {"from": "${node.node1}", "to": "${pod.web}"}}
}`
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	other, diags := Load(path, Options{Catalogue: datapath.Catalogue()})
	if len(diags) > 0 {
		t.Fatalf("\n%s", diagnosticsText(diags))
	}
	if other.Name != "stdin" || !reflect.DeepEqual(podNamed(t, native, "web-1").Addrs, podNamed(t, other, "web-1").Addrs) ||
		!reflect.DeepEqual(native.Expects[0].To, other.Expects[0].To) {
		t.Errorf("got %+v and %+v", native.Expects[0], other.Expects[0])
	}
}

func TestAFolderIsOneScenario(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop.lab")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"b.hcl": `pod "web" { node = node.node1 }`, "a.hcl.json": `{"node": {"node1": {"labels": {"x": "${var.x}"}}}}`,
		"vars.hcl": `variable "x" {}`, "x.auto.vars.hcl": `x = "auto"`, "notes.txt": `{`, "sub/c.hcl": `{`, ".hidden.hcl": `{`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, diags := Load(dir, Options{Catalogue: datapath.Catalogue()})
	if len(diags) > 0 {
		t.Fatalf("\n%s", diagnosticsText(diags))
	}
	if s.Name != "shop" || len(s.Files) != 3 || s.Lab.Nodes[0].Labels["x"] != "auto" || s.Path("b.hcl") != filepath.Join(dir, "b.hcl") {
		t.Errorf("got %+v", s)
	}
}

func TestFunctions(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"greeting.txt": "hello", "t.tpl": "%{ for x in list }<${x}>%{ endfor }"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for expr, want := range map[string]string{
		`cidrhost("10.0.0.0/8", 257)`:                            "10.0.1.1",
		`cidrhost("10.0.0.0/24", -1)`:                            "10.0.0.255",
		`cidrhost("fd00::/64", 16)`:                              "fd00::10",
		`cidrsubnet("10.244.0.0/16", 8, 3)`:                      "10.244.3.0/24",
		`cidrsubnet("fd00::/48", 16, 258)`:                       "fd00:0:0:102::/64",
		`cidrsubnet("10.0.0.0/8", 3, 5)`:                         "10.160.0.0/11",
		`cidrnetmask("10.0.0.0/20")`:                             "255.255.240.0",
		`cidrsubnets("10.1.0.0/16", 4, 4, 8, 4)[3]`:              "10.1.48.0/20",
		`join(" ", cidrsubnets("fd00::/48", 16, 16))`:            "fd00::/64 fd00:0:0:1::/64",
		`addr("fd00::1", 80)`:                                    "[fd00::1]:80",
		`addr(node.node1.ip, 80)`:                                "192.168.0.11:80",
		`startswith("web-0", "web") ? "yes" : "no"`:              "yes",
		`endswith("web-0", "web") ? "yes" : "no"`:                "no",
		`strcontains("a web b", "web") ? "yes" : "no"`:           "yes",
		`one([]) == null ? "none" : "some"`:                      "none",
		`one(["x"])`:                                             "x",
		`one(pod[*].name)`:                                       "p",
		`sum([1, 2.5, 3])`:                                       "6.5",
		`alltrue([for n in node : n.name != ""]) ? "yes" : "no"`: "yes",
		`anytrue([]) ? "yes" : "no"`:                             "no",
		`sha256("a")`:                                            "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
		`base64decode(base64encode("päp"))`:                      "päp",
		`jsonencode(transpose({ a = ["x", "y"], b = ["x"] }))`:   `{"x":["a","b"],"y":["a"]}`,
		`try(cidrsubnets("10.0.0.0/30", 1, 1, 1), "full")`:       "full",
		`try(cidrsubnets("255.255.255.254/31", 1, 1)[1], "?")`:   "255.255.255.255/32",
		`try(base64decode("/w=="), "not text")`:                  "not text",
		`try(node.node1.nothing, "else")`:                        "else",
		`can(cidrhost("x", 1)) ? "yes" : "no"`:                   "no",
		`file("greeting.txt")`:                                   "hello",
		`templatefile("t.tpl", { list = ["a", "b"] })`:           "<a><b>",
		`yamldecode("a: [1, 2]").a[1]`:                           "2",
		`jsonencode({ a = 1 })`:                                  `{"a":1}`,
		`format("%s-%03d", "a", 7)`:                              "a-007",
		`join(",", [for k, v in { b = 1, a = 2 } : "${k}${v}"])`: "a2,b1",
		`join(",", sort(keys(merge({ a = 1 }, { b = 2 }))))`:     "a,b",
	} {
		path := filepath.Join(dir, "lab.hcl")
		src := "node \"node1\" {}\npod \"p\" {\n  env = { V = " + expr + " }\n}\n"
		if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
		s, diags := Load(path, Options{Catalogue: datapath.Catalogue()})
		if got := podNamed(t, s, "p").Env["V"]; got != want {
			t.Errorf("%s: got %q, want %q\n%s", expr, got, want, diagnosticsText(diags))
		}
	}
}

func TestHostileInputEndsInDiagnostics(t *testing.T) {
	doubling := "locals {\n  a0 = \"xxxxxxxxxxxxxxxx\"\n"
	for i := range 60 {
		doubling += fmt.Sprintf("  a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	for name, src := range map[string]string{
		"nothing":    "",
		"binary":     "\x7fELF\x02\x01\x00\x00",
		"not UTF-8":  "node \"\xff\" {}",
		"too large":  strings.Repeat("#\n", source.MaxFile),
		"brackets":   "locals {\n  a = " + strings.Repeat("[", 400_000),
		"bangs":      "locals {\n  a = " + strings.Repeat("!", 400_000) + "true\n}",
		"sums":       "locals {\n  a = 1" + strings.Repeat("+1", 400_000) + "\n}",
		"questions":  "locals {\n  a = " + strings.Repeat("true?1:", 100_000) + "1\n}",
		"blocks":     strings.Repeat("a {\n", 200_000),
		"templates":  "locals {\n  a = " + strings.Repeat(`"${`, 100_000),
		"doubling":   doubling + "}\n",
		"long texts": "locals {\n  s = join(\"\", [for x in range(1000) : \"0123456789\"])\n  t = [for x in range(1000) : \"${local.s}${local.s}${local.s}${local.s}\"]\n  u = [for x in range(1000) : \"${local.t[x]}!\"]\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			if s, diags := Load("-", Options{Catalogue: datapath.Catalogue(), Stdin: strings.NewReader(src)}); s == nil || !diags.HasErrors() {
				t.Errorf("no error:\n%s", diagnosticsText(diags))
			}
		})
	}
	for _, path := range []string{"/dev/zero", t.TempDir(), "missing.hcl", "loacl-policy.hcl"} {
		if _, diags := Load(path, Options{Catalogue: datapath.Catalogue()}); !diags.HasErrors() {
			t.Errorf("%s: no error", path)
		}
	}
}
