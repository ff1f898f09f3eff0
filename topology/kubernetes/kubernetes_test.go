package kubernetes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netlab/netlab/topology"
)

// many are workloads with a service and a policy each: so many objects.
func many(objects int) []byte {
	var b strings.Builder
	for i := range objects / 3 {
		fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata: { name: app-%[1]d, namespace: team-%[2]d, labels: { app: app-%[1]d } }
spec:
  replicas: 2
  selector: { matchLabels: { app: app-%[1]d } }
  template:
    metadata: { labels: { app: app-%[1]d, tier: backend } }
    spec:
      containers:
        - name: server
          image: registry.example/app-%[1]d:1.0
          ports: [{ name: http, containerPort: 8080 }]
          resources: { requests: { cpu: 100m, memory: 64Mi } }
---
apiVersion: v1
kind: Service
metadata: { name: app-%[1]d, namespace: team-%[2]d }
spec: { selector: { app: app-%[1]d }, ports: [{ name: http, port: 80, targetPort: http }] }
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
	return []byte(b.String())
}

// BenchmarkObjects is what an import of 5,000 objects costs: at most a second.
func BenchmarkObjects(b *testing.B) {
	src := many(5000)
	for b.Loop() {
		var o Objects
		if problems := o.Read("many.yaml", src); problems.Failed() {
			b.Fatal(problems)
		}
		if lab := o.Lab(&topology.Spec{}, 3); len(lab.Pods) != 3332 || lab.Problems.Failed() {
			b.Fatal(len(lab.Pods), lab.Problems)
		}
	}
}

// What aliases repeat is bounded, however little text they need.
func TestAliasesAreBounded(t *testing.T) {
	list := func(name string, of string, n int) string {
		return "&" + name + " [" + strings.TrimSuffix(strings.Repeat(of+", ", n), ", ") + "]"
	}
	bomb := "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: bomb }\nspec:\n  podSelector: {}\n" +
		"  ingress:\n  - &r { ports: " + list("p", "{ port: 80 }", 100) + ", from: " + list("f", "{ podSelector: {} }", 100) + " }\n" + strings.Repeat("  - *r\n", 100)
	var o Objects
	problems := o.Read("bomb.yaml", []byte(bomb))
	if len(problems) != 1 || problems[0].Summary != "Too many aliases" {
		t.Errorf("got %v", problems)
	}
	deep := "apiVersion: v1\nkind: Pod\nmetadata: { name: deep, annotations: " + strings.Repeat("{ a: ", 20000) + strings.Repeat("}", 20000) + " }\n"
	if problems := o.Read("deep.yaml", []byte(deep)); len(problems) != 1 {
		t.Errorf("got %v", problems)
	}
	few := strings.Replace(bomb, strings.Repeat("  - *r\n", 100), "  - *r\n", 1)
	if problems := o.Read("few.yaml", []byte(few)); len(problems) > 0 {
		t.Errorf("an alias or two is refused: %v", problems)
	}
}

// JSON has escapes that YAML has not, and may be indented with tabs.
func TestJSONIsReadAsItIs(t *testing.T) {
	var o Objects
	src := "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"Pod\",\n\t\"metadata\": {\"name\": \"a\", \"labels\": {\"path\": \"a\\/b\", \"q\": \"\\\"\\u003c\", \"face\": \"\\ud83d\\ude00\"}, \"label\": {}},\n" +
		"\t\"spec\": {\"containers\": [\n\t\t{\"name\": \"c\"}\n\t]}\n}\n"
	problems := o.Read("a.json", []byte(src))
	if len(problems) != 1 || problems[0].Summary != "Unknown field" || problems[0].Origin.Line != 4 {
		t.Errorf("got %v", problems)
	}
	labels := o.Lab(&topology.Spec{}, 1).Pods[0].Labels
	if labels["path"] != "a/b" || labels["q"] != "\"<" || labels["face"] != "😀" {
		t.Errorf("got %v", labels)
	}
}

// FuzzRead reads anything without a panic, and makes a lab of whatever it understood.
func FuzzRead(f *testing.F) {
	f.Add(many(3))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{ kind: Pod, apiVersion: v1, metadata: { name: a, ownerReferences: [{}] } }, 3, null]"))
	f.Add([]byte("{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"a\"}, \"spec\": {\"ports\": [{}]}}"))
	f.Add([]byte("a: &a [*a]\n---\n<<: *a\nkind: Node\n? [x]\n: y"))
	f.Fuzz(func(_ *testing.T, src []byte) {
		var o Objects
		o.Read("a.yaml", src)
		o.Network()
		if len(src) < 10_000 {
			o.Lab(&topology.Spec{}, 3)
		}
	})
}

// What kubectl takes is taken: values of JSON in a row, aliases of objects, the words of YAML 1.1.
func TestKubectlsHabitsAreRead(t *testing.T) {
	for name, src := range map[string]string{
		"stream": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"hostNetwork":true}}`,
		"alias":  "apiVersion: v1\nkind: List\nitems:\n- { apiVersion: v1, kind: Pod, metadata: &m { name: a } }\n- &b { apiVersion: v1, kind: Pod, metadata: { <<: *m, name: b }, spec: { hostNetwork: on } }\n",
		"list":   "apiVersion: v1\nkind: PodList\nitems: [{ metadata: { name: a } }, { metadata: { name: b }, spec: { hostNetwork: Yes } }]\n",
		"alias of a list": "apiVersion: v1\nkind: List\nmetadata: { annotations: &l [{ apiVersion: v1, kind: Pod, metadata: { name: a } }, { apiVersion: v1, kind: Pod, metadata: { name: b }, spec: { hostNetwork: true } }] }\n" +
			"items: *l\n",
	} {
		var o Objects
		problems := o.Read("a", []byte(src))
		lab := o.Lab(&topology.Spec{}, 1)
		if len(problems) > 0 || len(lab.Pods) != 2 || lab.Pods[1].Name() != "b" || !lab.Pods[1].HostNetwork.Value || lab.Pods[0].HostNetwork.Value {
			t.Errorf("%s: %v, %v", name, problems, lab.Pods)
		}
	}
}
