package language

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/scenarios/language/source"
)

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const webAndProbe = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: c, image: nginx, ports: [{ name: http, containerPort: 8080 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: http }] }
---
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: Service, metadata: { name: web, namespace: prod }, spec: { ports: [{ port: 80 }], clusterIP: 10.96.7.7 } }
- { apiVersion: apps/v1, kind: DaemonSet, metadata: { name: agent, namespace: prod }, spec: { selector: {}, template: { spec: { containers: [{ name: c }] } } } }
`

// Objects are referred to as if they were written, and take part in a scenario with others.
func TestObjectsOfManifestsAreReferredTo(t *testing.T) {
	dir := folder(t, map[string]string{
		"lab.hcl": `
node "a" {}
node "b" {}
client "laptop" {}
import "manifests/*.yaml" {}
import "manifests" {}
expect "as if written" {
  from   = [pod.agent["a"], pod.web[*], client.laptop]
  to     = [service.web, "${service.prod-web.cluster_ip}:80"]
  answer = pod.web
}
locals { where = namespace.prod.name }
`, "manifests/web.yaml": webAndProbe})
	s, diags := Load(filepath.Join(dir, "lab.hcl"), Options{Catalogue: catalogue})
	if diags.HasErrors() {
		t.Fatal(diagnosticsText(diags))
	}
	if n := len(s.Lab.Pods); n != 5 {
		t.Errorf("%d pods, want 3 of web and an agent on each node", n)
	}
	e := s.Expects[0]
	if len(e.From) != 5 || len(e.To) != 2 || e.To[1].Addr.String() != "10.96.7.7:80" {
		t.Errorf("from %v to %v", e.From, e.To)
	}
	if o := s.Lab.Services[0].Origin; o.File != "manifests/web.yaml" || o.Line == 0 || s.Path(o.File) != filepath.Join(dir, "manifests/web.yaml") {
		t.Errorf("the service is from %v, at %s", o, s.Path(o.File))
	}
}

// What a cluster prints has a name service, which a dns block replaces, and fields that say what
// labs do anyway.
func TestADNSBlockReplacesTheNameServiceOfManifests(t *testing.T) {
	dir := folder(t, map[string]string{"lab.hcl": "dns {}\nnode \"a\" {}\nimport \"*.yaml\" {}\n", "cluster.yaml": `
apiVersion: v1
kind: Service
metadata: { name: kube-dns, namespace: kube-system }
spec: { selector: { k8s-app: kube-dns }, clusterIP: 10.96.0.10, ports: [{ port: 53, protocol: UDP }] }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: coredns, namespace: kube-system }
spec:
  selector: { matchLabels: { k8s-app: kube-dns } }
  template: { metadata: { labels: { k8s-app: kube-dns } }, spec: { containers: [{ name: c, ports: [{ containerPort: 53, protocol: UDP }] }] } }
---
apiVersion: v1
kind: Pod
metadata: { name: coredns-x, namespace: kube-system, labels: { k8s-app: kube-dns } }
---
apiVersion: v1
kind: Service
metadata: { name: balanced }
spec: { type: LoadBalancer, allocateLoadBalancerNodePorts: true, ports: [{ port: 80 }] }
`})
	s, diags := Load(filepath.Join(dir, "lab.hcl"), Options{Catalogue: catalogue})
	if len(diags) > 0 {
		t.Fatal(diagnosticsText(diags))
	}
	var names []string
	for _, p := range s.Lab.Pods {
		names = append(names, p.AgentName())
	}
	if got := strings.Join(names, " "); got != "kube-system/coredns-0 kube-system/coredns-1" || len(s.Lab.Services) != 2 {
		t.Errorf("got pods %s and %d services", got, len(s.Lab.Services))
	}
}

// A file or a folder of manifests is a scenario, with nodes if it has none.
func TestManifestsAreAScenario(t *testing.T) {
	dir := folder(t, map[string]string{"web.yaml": webAndProbe, "notes.txt": "no manifest"})
	found, err := source.Find([]string{dir})
	if err != nil || len(found) != 1 || found[0] != dir {
		t.Fatalf("found %v: %v", found, err)
	}
	for path, nodes := range map[string]int{dir: 0, filepath.Join(dir, "web.yaml"): 5} {
		s, diags := Load(path, Options{Catalogue: catalogue, Nodes: nodes})
		want := nodes
		if want == 0 {
			want = DefaultNodes
		}
		if diags.HasErrors() || len(s.Lab.Nodes) != want || len(s.Lab.Pods) != 3+want {
			t.Errorf("%s: %d nodes and %d pods\n%s", path, len(s.Lab.Nodes), len(s.Lab.Pods), diagnosticsText(diags))
		}
	}
}

// Files outside of the scenario's folder are not read, whatever leads there.
func TestManifestsStayInTheFolder(t *testing.T) {
	secret := filepath.Join(folder(t, map[string]string{"secret.yaml": "password: hunter2"}), "secret.yaml")
	dir := folder(t, map[string]string{"lab.hcl": "node \"n\" {}\nimport \"*.yaml\" {}\nimport \"" + secret + "\" {}\n"})
	if err := os.Symlink(secret, filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	_, diags := Load(filepath.Join(dir, "lab.hcl"), Options{Catalogue: catalogue})
	text := diagnosticsText(diags)
	if strings.Contains(text, "hunter2") || strings.Count(text, "outside of the scenario's folder") != 2 {
		t.Errorf("got:\n%s", text)
	}
}

// Every import is a scenario with the same plan as the manifests themselves. The cases show how
// it reads.
func TestAnImportIsTheSameLab(t *testing.T) {
	files, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %v: %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, diags := Import([]string{file}, Options{Catalogue: catalogue})
			if diags.HasErrors() {
				t.Fatal(diagnosticsText(diags))
			}
			got := s.HCL()
			golden := strings.TrimSuffix(file, ".yaml") + ".hcl"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != string(got) {
				t.Errorf("make golden rewrites it (%v); got:\n%s", err, got)
			}
			again, diags := Load(golden, Options{Catalogue: catalogue})
			if diags.HasErrors() {
				t.Fatal(diagnosticsText(diags))
			}
			if !plan.Diff(compiled(t, s), compiled(t, again)).Empty() {
				t.Error("the import makes another lab")
			}
			if formatted, _ := source.Format(golden, got, nil); string(formatted) != string(got) {
				t.Error("netlab fmt would change it")
			}
		})
	}
}

// Name servers of the manifests are pods as all others, so that nobody can ask them.
func TestManifestsWithNameServersKeepThem(t *testing.T) {
	const own = "apiVersion: v1\nkind: Service\nmetadata: { name: kube-dns, namespace: kube-system }\nspec: { clusterIP: 10.96.0.10, ports: [{ port: 53, protocol: UDP }] }\n---\n"
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec:\n  dnsPolicy: Default\n  containers: [{ name: c }]\n"
	for text, lost := range map[string]bool{own + pod: true, pod: false} {
		dir := folder(t, map[string]string{"web.yaml": text})
		s, diags := Load(dir, Options{Catalogue: catalogue})
		said := diagnosticsText(diags)
		if diags.HasErrors() || (s.Lab.DNS == nil) != lost || strings.Contains(said, "have name servers of their own (service kube-dns") != lost {
			t.Errorf("%s\nname service %v:\n%s", text, s.Lab.DNS, said)
		}
	}
}

func compiled(t *testing.T, s *Scenario) *plan.Plan {
	p, err := datapath.Compile(s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A file of manifests is as bounded as one of a scenario: its size, what kind of file it is, and
// how deep its values nest.
func TestManifestsAreBounded(t *testing.T) {
	dir := folder(t, map[string]string{"deep.yaml": strings.Repeat("[", 1<<20), "large.yaml": "", "binary.yaml": "a: \x00"})
	if err := os.Truncate(filepath.Join(dir, "large.yaml"), source.MaxManifest+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "device.yaml")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"deep.yaml": "exceeded max depth", "large.yaml": "larger than 33554432 bytes", "device.yaml": "not a regular file", "binary.yaml": "not UTF-8 text",
	} {
		path := filepath.Join(dir, name)
		for _, load := range []func() (*Scenario, source.Diagnostics){
			func() (*Scenario, source.Diagnostics) { return Load(path, Options{Catalogue: catalogue}) },
			func() (*Scenario, source.Diagnostics) { return Import([]string{path}, Options{Catalogue: catalogue}) },
		} {
			if _, diags := load(); !strings.Contains(diagnosticsText(diags), want) {
				t.Errorf("%s: got %s", name, diagnosticsText(diags))
			}
		}
	}
}

// BenchmarkImport is what netlab import costs for 5,000 objects: at most a second.
func BenchmarkImport(b *testing.B) {
	var text strings.Builder
	for i := range 1667 {
		fmt.Fprintf(&text, `apiVersion: apps/v1
kind: Deployment
metadata: { name: app-%[1]d, namespace: team-%[2]d }
spec:
  selector: { matchLabels: { app: app-%[1]d } }
  template:
    metadata: { labels: { app: app-%[1]d } }
    spec:
      containers:
        - name: server
          image: registry.example/app-%[1]d:1.0
          ports: [{ name: http, containerPort: 8080 }]
---
apiVersion: v1
kind: Service
metadata: { name: app-%[1]d, namespace: team-%[2]d }
spec: { selector: { app: app-%[1]d }, ports: [{ port: 80, targetPort: http }] }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: app-%[1]d, namespace: team-%[2]d }
spec:
  podSelector: { matchLabels: { app: app-%[1]d } }
  ingress: [{ from: [{ podSelector: {} }], ports: [{ port: http }] }]
---
`, i, i%20)
	}
	file := filepath.Join(b.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, diags := Import([]string{file}, Options{Catalogue: catalogue, Nodes: 10})
		if diags.HasErrors() || len(s.Lab.Services) != 1667 {
			b.Fatal(diagnosticsText(diags))
		}
		s.HCL()
	}
}

// What manifests say cannot become a part of the scenario that an import writes: names and kinds
// end up in comments and strings, and a file may have any name.
func TestAnImportIsNothingButData(t *testing.T) {
	const evil = `x\nnode \"evil\" {}\r\n\u2028node \"evil\" {}`
	dir := folder(t, map[string]string{"a\nnode \"evil\" {}\n#.yaml": `
apiVersion: example.org/v1
kind: "` + evil + `"
metadata: { name: "` + evil + `" }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: "` + evil + strings.Repeat("long", 1000) + `" }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: "` + evil + `", labels: { kubernetes.io/service-name: "` + evil + `" } }
---
apiVersion: v1
kind: Pod
metadata: { name: one }
spec:
  nodeSelector: { "` + evil + `": "` + evil + `" }
  affinity: { a: b }
  dnsConfig: { options: [{ name: "${path.root}", value: "%{if}" }] }
  containers: [{ name: c }]
`})
	s, diags := Import([]string{dir}, Options{Catalogue: catalogue, Nodes: 1})
	if diags.HasErrors() {
		t.Fatal(diagnosticsText(diags))
	}
	for _, d := range diags {
		if strings.ContainsAny(d.Detail, "\r\n") || len(d.Detail) > 2000 {
			t.Errorf("a diagnostic has several lines, or a long one: %q", d.Detail)
		}
	}
	made := filepath.Join(t.TempDir(), "made.hcl")
	if err := os.WriteFile(made, s.HCL(), 0o644); err != nil {
		t.Fatal(err)
	}
	again, diags := Load(made, Options{Catalogue: catalogue})
	if diags.HasErrors() || len(again.Lab.Nodes) != 1 || len(again.Lab.Pods) != len(s.Lab.Pods) {
		t.Errorf("the import is another lab:\n%s\n%s", diagnosticsText(diags), s.HCL())
	}
	if options := again.Lab.Pods[0].DNSConfig.Options; len(options) != 1 || options[0].Name != "${path.root}" || options[0].Value != "%{if}" {
		t.Errorf("the options are %v", options)
	}
}

// However much is not carried over, the rest is a lab; and no mistake is hidden by warnings.
func TestManyWarningsAreNoMistake(t *testing.T) {
	many := strings.Repeat("apiVersion: batch/v1\nkind: CronJob\nmetadata: { name: a }\n---\n", 300)
	load := func(more string) source.Diagnostics {
		_, diags := Load(folder(t, map[string]string{"a.yaml": many + more}), Options{Catalogue: catalogue})
		return diags
	}
	pod := "apiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { containers: [{ name: c }] }\n"
	diags := load(pod)
	if last := diags[len(diags)-1]; diags.HasErrors() || len(diags) != 201 || !strings.Contains(last.Detail, "There are 100 more") {
		t.Errorf("got %d:\n%s", len(diags), diagnosticsText(diags[len(diags)-2:]))
	}
	diags = load(strings.ReplaceAll(pod, "name: a", "nam: a"))
	if text := diagnosticsText(diags); !diags.HasErrors() || len(diags) != 201 || !strings.Contains(text, "Did you mean \"name\"") {
		t.Errorf("got %d:\n%s", len(diags), diagnosticsText(diags[len(diags)-3:]))
	}
}

// What is no pod in the cluster either is told, and strictly read manifests may have it.
func TestStrictImportsTakeWhatHasEnded(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { containers: [{ name: c }] }\n---\n"
	for name, row := range map[string]struct {
		text    string
		refused bool
	}{
		"an ended pod":     {"apiVersion: v1\nkind: Pod\nmetadata: { name: b }\nspec: { containers: [{ name: c }] }\nstatus: { phase: Succeeded }\n", false},
		"a failed pod":     {"apiVersion: v1\nkind: Pod\nmetadata: { name: b }\nspec: { containers: [{ name: c }] }\nstatus: { phase: Failed }\n", false},
		"a suspended job":  {"apiVersion: batch/v1\nkind: Job\nmetadata: { name: b }\nspec: { suspend: true, template: { spec: { restartPolicy: Never, containers: [{ name: c }] } } }\n", false},
		"a pod that waits": {"apiVersion: v1\nkind: Pod\nmetadata: { name: b }\nspec: { containers: [{ name: c }] }\nstatus: { phase: Pending, conditions: [{ type: PodScheduled, status: \"False\" }] }\n", true},
		"a cron job":       {"apiVersion: batch/v1\nkind: CronJob\nmetadata: { name: b }\n", true},
	} {
		_, diags := Load(folder(t, map[string]string{"a.yaml": pod + row.text}), Options{Catalogue: catalogue, Strict: true})
		if text := diagnosticsText(diags); diags.HasErrors() != row.refused || !strings.Contains(text, "Not carried over") {
			t.Errorf("%s: got\n%s", name, text)
		}
	}
}

// Manifests without anything that a lab has are no lab, as a scenario without blocks is none.
func TestManifestsWithoutAnObjectAreRefused(t *testing.T) {
	for name, text := range map[string]string{"empty.yaml": "# nothing\n---\n", "kustomization.yaml": "resources: [a.yaml]\n", "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: { name: a }\n"} {
		dir := folder(t, map[string]string{name: text})
		_, diags := Load(dir, Options{Catalogue: catalogue})
		if said := diagnosticsText(diags); !diags.HasErrors() || !strings.Contains(said, "There is no object in "+name) {
			t.Errorf("%s: %s", name, said)
		}
	}
}
