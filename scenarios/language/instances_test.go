package language

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/scenarios/language/names"
)

// Every block with a label makes objects, except a variable, and an import, whose objects are
// those of its files. The count of an expectation is
// that of its connections.
func TestEveryBlockWithALabelCanBeRepeatedAndNamed(t *testing.T) {
	tried := 0
	for _, b := range Reference(catalogue).Blocks {
		if !b.Labeled || b.Name == "variable" || b.Name == "import" {
			continue
		}
		tried++
		for _, attr := range []string{"name", "count", "for_each"} {
			if !slices.Contains(b.Table().AttrNames(), attr) {
				t.Errorf("a %s block has no %s: begin its attributes with blocks.Object(…)", b.Name, attr)
			}
		}
	}
	if tried < 8 {
		t.Errorf("found %d kinds only", tried)
	}
}

// aLot has instances of every kind of object.
const aLot = `
network { pod_cidr = "10.244.0.0/16" }
node "n" { count = 3 }
node "edge" {
  for_each = { a = "zone-a", b = "zone-b" }
  name     = "e-${each.key}"
  zone     = each.value
}
node "single" { name = "alone" }
client "c" {
  for_each = toset(["x", "y"])
  address  = { x = "192.168.0.211", y = "192.168.0.212" }[each.key]
  routes   = [{ to = "203.0.113.0/24", via = node.n[each.key == "x" ? 0 : 1].ip }]
  port "http" { port = 80 }
}
namespace "ns" {
  for_each = { for n in node.n : n.name => n }
  name     = "of-${each.key}"
  labels   = { node = each.value.name }
}
dynamic "pod" {
  for_each = { one = 1, two = 2 }
  labels   = [pod.key]
  content {
    count     = pod.value
    namespace = namespace.ns["n-${count.index}"]
    node      = node.n[count.index]
    port "http" { port = 80 + count.index }
  }
}
service "s" {
  for_each  = namespace.ns
  name      = "s"
  namespace = each.value
  port "http" { port = 80 }
}
policy "p" {
  for_each  = namespace.ns
  name      = "p"
  namespace = each.value
  dynamic "ingress" {
    for_each = [each.key == "n-0" ? 80 : null]
    content {
      port { port = ingress.value }
      from { pod_selector = each.key == "n-0" ? {} : { app = each.key } }
    }
  }
}
cluster_policy "cp" {
  count    = 2
  tier     = "Baseline"
  priority = count.index
  subject { namespace_selector = { node = node.n[count.index].name } }
}
expect "e" {
  for_each = { for key, p in pod.two : key => p }
  from     = node.single
  to       = each.value
  source   = each.key == "0" ? each.from.ip : each.from.ips[0]
}
`

func TestEveryKindOfObjectHasInstances(t *testing.T) {
	s := loadWarned(t, aLot+`
locals {
  splats = [node.n[*].ip, client.c[*].ip, namespace.ns[*].name, pod.two[*].ip, service.s[*].cluster_ip]
  loops  = [[for n in node.n : n.ip], [for c in client.c : c.ip], [for k, n in namespace.ns : n.name], [for p in pod.two : p.ip], [for s in service.s : s.cluster_ip]]
  same   = local.splats == local.loops
}
expect "splats and loops agree" {
  for_each = local.same ? toset(["they do"]) : toset([])
  from     = node.edge["a"]
  to       = "${client.c["y"].ip}:80"
}
expect "all nodes" {
  from    = node.single
  to      = [for n in concat(node.n, values(node.edge), [node.single]) : "${n.ip}:80"]
  outcome = "refused"
}
`)
	var got []string
	for _, n := range s.Lab.Nodes {
		got = append(got, "node "+n.Name+" "+n.Zone)
	}
	for _, c := range s.Lab.Clients {
		got = append(got, fmt.Sprint("client ", c.Name, " ", c.Addrs[0], " via ", c.Routes[0].Via == s.Lab.Nodes[map[string]int{"c-x": 3, "c-y": 4}[c.Name]].Addrs[0]))
	}
	for _, n := range s.Lab.Namespaces {
		got = append(got, "namespace "+n.Name+" "+n.Labels["node"])
	}
	for _, p := range s.Lab.Pods {
		got = append(got, fmt.Sprint("pod ", p.AgentName(), " on ", p.Node.Name, " ", p.Ports[0].Number))
	}
	for _, o := range s.Lab.Services {
		got = append(got, "service "+o.Namespace+"/"+o.Name)
	}
	for _, p := range s.Lab.Policies {
		got = append(got, fmt.Sprint("policy ", p.Namespace, "/", p.Name, " ", p.Ingress.Rules[0].Ports[0].First))
	}
	for _, p := range s.Lab.ClusterPolicies {
		got = append(got, fmt.Sprint("cluster_policy ", p.Name, " ", p.Priority))
	}
	for _, e := range s.Expects {
		got = append(got, fmt.Sprint("expect ", e.Name, " ", len(e.To)))
	}
	want := `node alone 
node e-a zone-a
node e-b zone-b
node n-0 
node n-1 
node n-2 
client c-x 192.168.0.211 via true
client c-y 192.168.0.212 via true
namespace default 
namespace of-n-0 n-0
namespace of-n-1 n-1
namespace of-n-2 n-2
pod of-n-0/one-0 on n-0 80
pod of-n-0/two-0 on n-0 80
pod of-n-1/two-1 on n-1 81
service of-n-0/s
service of-n-1/s
service of-n-2/s
policy of-n-0/p 80
policy of-n-1/p 0
policy of-n-2/p 0
cluster_policy cp-0 0
cluster_policy cp-1 1
expect e: 0 1
expect e: 1 1
expect splats and loops agree: they do 1
expect all nodes 6`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
}

// loadWarned is loadText for a scenario whose services need no endpoint.
func loadWarned(t *testing.T, src string) *Scenario {
	t.Helper()
	s, diags := Load("-", Options{Catalogue: datapath.Catalogue(), Stdin: strings.NewReader(src)})
	if diags.HasErrors() {
		t.Fatalf("\n%s", diagnosticsText(diags))
	}
	return s
}

func TestInstancesAreFoundOnTheCommandLine(t *testing.T) {
	lab := loadWarned(t, aLot).Lab
	for name, want := range map[string]string{
		"node.n[1]": "n-1", `node.n["1"]`: "n-1", "n-1": "n-1", "node.single": "alone", "node/alone": "alone", `node.edge["a"]`: "e-a",
		`client.c["x"]`: "c-x", "pod.one[0]": "of-n-0/one-0", "of-n-0/two-0": "of-n-0/two-0",
	} {
		if got, err := names.Dialer(lab, name); err != nil || got.Name != want {
			t.Errorf("%s: got %q, %v, want %s", name, got.Name, err, want)
		}
	}
	ip := lab.Services[1].ClusterIPs[0].String() + ":80"
	for name, want := range map[string]string{
		`service.s["n-1"]`: ip, "of-n-1/s": ip, "s.of-n-1:http": ip, "service/of-n-1/s": ip,
		"s": `"s" is ambiguous`, "service/s": `"service/s" is ambiguous`,
	} {
		got, _, err := names.Listener(lab, name, "")
		text := got.Addr.String()
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s: got %s, want %s", name, text, want)
		}
	}
}

// An ambiguous name is answered with names that are not.
func TestAmbiguousNamesComeWithNamesThatAreNot(t *testing.T) {
	lab := loadWarned(t, `
node "n" {}
namespace "db" {}
pod "a" { name = "web" }
pod "b" {
  name      = "web"
  namespace = "db"
}
node "web" {}
`).Lab
	_, err := names.Dialer(lab, "web")
	e, ok := err.(*names.NameError)
	if !ok {
		t.Fatalf("no error for an ambiguous name: %v", err)
	}
	if got := names.Unique("web", "pod.web", names.All(lab)); got != "pod/default/web" {
		t.Errorf("the pod is called %s", got)
	}
	if got := names.Unique("db/web", "pod.db.web", names.All(lab)); got != "db/web" {
		t.Errorf("the other pod is called %s", got)
	}
	list := strings.Split(strings.TrimPrefix(e.Hint, "write one of: "), ", ")
	if len(list) != 3 {
		t.Errorf("got %q", e.Hint)
	}
	for _, name := range list {
		if _, err := names.Dialer(lab, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The blocks of a formatted file that make one object each: on a line, and their first line;
// and those that repeat or have a name, on whose second line that stands.
var (
	oneLine  = regexp.MustCompile(`(?m)^((\w+) "[^"]+") \{(.*)\}$`)
	opening  = regexp.MustCompile(`(?m)^(node|client|namespace|pod|service|policy|cluster_policy|expect) ("[^"]+") \{$`)
	external = regexp.MustCompile(`source += "[^"]+\.hcl"`)
	renamed  = regexp.MustCompile(`(?m)\n  name = "[^"]+"(\n  (?:name|for_each|count) +=.*)$`)
)

// Names written out as they are by default, and one instance where there was one object with
// its name, change nothing.
func TestNamesWrittenOutChangeNothing(t *testing.T) {
	kinds := map[string]bool{}
	for _, path := range shipped(t) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// A file that a pod gets may be the scenario itself.
		plain := external.ReplaceAllString(string(src), `content = "x"`)
		text := oneLine.ReplaceAllString(plain, "$1 {\n$3\n}")
		text = opening.ReplaceAllStringFunc(text, func(line string) string {
			m := opening.FindStringSubmatch(line)
			kinds[m[1]] = true
			return line + "\n  name = " + m[2]
		})
		text = renamed.ReplaceAllString(text, "$1")
		written := func(text string) string {
			file := filepath.Join(t.TempDir(), filepath.Base(path))
			files := map[string][]byte{file: []byte(text)}
			if objects, err := os.ReadFile(strings.TrimSuffix(path, ".hcl") + ".yaml"); err == nil { // which it imports
				files[strings.TrimSuffix(file, ".hcl")+".yaml"] = objects
			}
			if image, err := os.ReadFile(strings.TrimSuffix(path, ".hcl") + ".tar"); err == nil { // which its pods run
				files[strings.TrimSuffix(file, ".hcl")+".tar"] = image
			}
			for name, src := range files {
				if err := os.WriteFile(name, src, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			return file
		}
		if before, after := planOf(t, written(plain)), planOf(t, written(text)); before != after {
			t.Errorf("%s: with its names written out, the plan differs", path)
		}
	}
	if len(kinds) != 8 {
		t.Errorf("tried the kinds %v only", kinds)
	}
}

// A scenario may read its own file, whose text differs.
var lineNumber = regexp.MustCompile(`\.hcl:\d+|lab\.hcl mode 0644 sha256:\w+ \(\d+ bytes\)`)

// planOf is the plan of a scenario and its claims, without line numbers.
func planOf(t *testing.T, path string) string {
	t.Helper()
	s, diags := Load(path, Options{Catalogue: datapath.Catalogue()})
	if diags.HasErrors() {
		t.Fatalf("%s\n%s", path, diagnosticsText(diags))
	}
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.Write(p.Text())
	for _, e := range s.Expects {
		fmt.Fprintln(&b, e.Name, e.Describe())
	}
	return lineNumber.ReplaceAllString(b.String(), ".hcl")
}
