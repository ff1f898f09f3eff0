package kubernetes

import (
	"fmt"
	"net/netip"
	"slices"
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
	f.Add([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\ndata: { a: b }\nbinaryData: { d: eA== }\n---\napiVersion: v1\nkind: Pod\nmetadata: { name: a }\nspec: { volumes: [{ name: v, configMap: { name: c, items: [{ key: a, path: x/y, mode: 0600 }] } }, { name: p, projected: { sources: [{ configMap: { name: c } }] } }], containers: [{ volumeMounts: [{ name: v, mountPath: /etc, subPath: x }, { name: p, mountPath: /etc }] }] }"))
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

// What a volume of ConfigMaps says of paths and modes holds: kubelet's AtomicWriter and subpath
// make these files, in whichever container.
func TestConfigMapsAreFilesOfPods(t *testing.T) {
	const maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\ndata: { a: one, b: two }\nbinaryData: { d: dGhyZWU= }\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c, namespace: other }\ndata: { a: elsewhere }\n---\n"
	for _, x := range []struct{ name, volume, mounts, want string }{
		{"all keys", "configMap: { name: c }", "{ name: v, mountPath: /etc/app }", "/etc/app/a=one /etc/app/b=two /etc/app/d=three"},
		{"items", "configMap: { name: c, defaultMode: 0400, items: [{ key: b, path: x/y }, { key: a, path: z, mode: 0o755 }] }", "{ name: v, mountPath: /m/ }", "/m/x/y=two:0400 /m/z=one:0755"},
		{"modes of JSON", "configMap: { name: c, defaultMode: 256, items: [{ key: b, path: x }] }", "{ name: v, mountPath: /m }", "/m/x=two:0400"},
		{"a file", "configMap: { name: c }", "{ name: v, mountPath: /etc/my.conf, subPath: b }", "/etc/my.conf=two"},
		{"a folder", "configMap: { name: c, items: [{ key: a, path: x/y }, { key: b, path: xx }] }", "{ name: v, mountPath: /m, subPath: x }", "/m/y=one"},
		{"projected", "projected: { defaultMode: 0600, sources: [{ configMap: { name: c } }, { configMap: { name: c, items: [{ key: a, path: b }] } }, { secret: { name: s } }] }",
			"{ name: v, mountPath: /m }", "/m/a=one:0600 /m/d=three:0600 /m/b=one:0600"},
		{"twice", "configMap: { name: c, items: [{ key: a, path: a }] }", "{ name: v, mountPath: /m }] }, { volumeMounts: [{ name: v, mountPath: /m }, { name: v, mountPath: /n }", "/m/a=one /n/a=one"},
		{"not mounted", "configMap: { name: nowhere }", "", ""},
		{"optional", "configMap: { name: nowhere, optional: true }", "{ name: v, mountPath: /m }", ""},
		{"of every namespace", "configMap: { name: kube-root-ca.crt }", "{ name: v, mountPath: /m }", ""},
		{"another volume", "secret: { secretName: c }", "{ name: v, mountPath: /m }", ""},
	} {
		var o Objects
		src := maps + "apiVersion: v1\nkind: Pod\nmetadata: { name: p }\nspec: { volumes: [{ name: v, " + x.volume + " }], containers: [{ volumeMounts: [" + x.mounts + "] }] }\n"
		problems := o.Read("a.yaml", []byte(src))
		lab := o.Lab(&topology.Spec{}, 1)
		var got []string
		for _, f := range lab.Pods[0].Program.Files {
			text := f.Path + "=" + f.Content.Value
			if f.Mode.Set {
				text += ":" + f.Mode.Value
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != x.want || len(problems)+len(lab.Problems)+len(lab.Lost) > 0 {
			t.Errorf("%s: got %q, want %q; %v %v %v", x.name, text, x.want, problems, lab.Problems, lab.Lost)
		}
	}
}

// Files that no volume can be are named, and the others are exported.
func TestFilesAreExportedAsConfigMaps(t *testing.T) {
	files := []topology.File{{Path: "/a:b", Content: "x"}, {Path: "/bin/s", Content: "s", Mode: 0o4755}, {Path: "/c/..x", Content: "1", Mode: 0o644}, {Path: "/d/..x", Content: "2", Mode: 0o644}, {Path: "/e/f", Content: "3", Mode: 0o600}, {Path: "/g/f", Content: "4", Mode: 0o600}}
	node := &topology.Node{Name: "n"}
	pod := &topology.Pod{Name: "p", Namespace: "default", Node: node, Serving: true, Program: topology.Program{Files: files}}
	spec := &topology.Spec{Nodes: []topology.NodeSpec{{Name: "n"}}, Pods: []topology.PodSpec{{Block: "p"}}}
	text, lost := Manifests(spec, &topology.Lab{Nodes: []*topology.Node{node}, Pods: []*topology.Pod{pod}})
	if len(lost) != 2 || !strings.Contains(lost[0].Why, "colon") || !strings.Contains(lost[1].Why, "mode") {
		t.Errorf("lost %v", lost)
	}
	var o Objects
	problems := o.Read("a.yaml", text)
	got := ""
	for _, f := range o.Lab(&topology.Spec{}, 1).Pods[0].Program.Files {
		got += f.Path + "=" + f.Content.Value + f.Mode.Value + " "
	}
	if want := "/c/..x=1 /d/..x=2 /e/f=30600 /g/f=40600 "; len(problems) > 0 || got != want {
		t.Errorf("got %q, want %q: %v\n%s", got, want, problems, text)
	}
	pod.Program.Files = []topology.File{{Path: "/a", Content: strings.Repeat("x", maxConfig+1)}}
	if text, lost := Manifests(spec, &topology.Lab{Nodes: []*topology.Node{node}, Pods: []*topology.Pod{pod}}); len(lost) != 1 || strings.Contains(string(text), "ConfigMap") {
		t.Errorf("lost %v", lost)
	}
}

// Workloads of one name have pods of different names, and those of a StatefulSet are its own.
func TestWorkloadsOfOneNameAreApart(t *testing.T) {
	var o Objects
	src := "apiVersion: v1\nkind: Pod\nmetadata: { name: a }\n"
	for kind, count := range map[string]string{"apps/v1\nkind: Deployment": "replicas: 2", "apps/v1\nkind: StatefulSet": "replicas: 2", "batch/v1\nkind: Job": "parallelism: 1"} {
		for _, namespace := range []string{"default", "other"} {
			src += "---\napiVersion: " + kind + "\nmetadata: { name: a, namespace: " + namespace + " }\n" +
				"spec: { " + count + ", selector: { matchLabels: { a: b } }, template: { metadata: { labels: { a: b } }, spec: { containers: [{ name: c }] } } }\n"
		}
	}
	if problems := o.Read("a.yaml", []byte(src)); problems.Failed() {
		t.Fatal(problems)
	}
	var names []string
	for _, p := range o.Lab(&topology.Spec{}, 1).Pods {
		names = append(names, p.Namespace.Or("default")+"/"+p.Name())
	}
	slices.Sort(names)
	want := "default/a default/a-0 default/a-1 default/a-deployment-0 default/a-deployment-1 default/a-job other/a other/a-0 other/a-1 other/a-deployment-0 other/a-deployment-1"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What is empty is not there, as in the API, but for labels; and protocols are in upper case.
func TestEmptyFieldsAreNotThere(t *testing.T) {
	var o Objects
	problems := o.Read("a.yaml", []byte(`{ apiVersion: v1, kind: Service, metadata: { name: a, namespace: "", labels: { empty: "" } }, spec: { type: "", clusterIP: "", loadBalancerIP: "",
  externalName: "", selector: { a: "" }, healthCheckNodePort: 0, ports: [{ name: "", port: 80, nodePort: 0, protocol: "" }, { name: b, port: 81, protocol: tcp }] } }
`))
	lab := o.Lab(&topology.Spec{}, 1)
	if len(problems) > 0 || len(lab.Problems) != 1 || lab.Problems[0].Summary != "Unknown protocol" || lab.Problems[0].Origin.Line != 2 {
		t.Errorf("got %v and %v", problems, lab.Problems)
	}
	s := lab.Services[0]
	if s.Type.Set || s.ClusterIP.Set || s.LoadBalancerIPs.Set || s.ExternalName.Set || s.HealthCheckNodePort.Set || s.Ports[0].NodePort.Set {
		t.Errorf("got %+v", s)
	}
	if v, is := s.Labels["empty"]; v != "" || !is || len(s.Selector) != 1 {
		t.Errorf("got labels %v and selector %v", s.Labels, s.Selector)
	}
}

// Pods get other addresses in a lab, so that a block with some of those that they had is told.
func TestAddressesOfPodsAreNotCarriedOver(t *testing.T) {
	var o Objects
	src := "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: { name: np }\nspec:\n  podSelector: {}\n  ingress:\n  - from:\n" +
		"    - ipBlock: { cidr: 10.244.1.5/32 }\n    - ipBlock: { cidr: 10.244.0.0/16, except: [10.244.2.0/28] }\n    - ipBlock: { cidr: 10.244.1.0/24 }\n    - ipBlock: { cidr: 10.0.0.0/8 }\n    - ipBlock: { cidr: 192.0.2.0/24 }\n"
	for name, status := range map[string]string{"a": "10.244.1.5", "b": "10.244.2.5"} {
		src += "---\napiVersion: v1\nkind: Pod\nmetadata: { name: " + name + " }\nstatus: { podIP: " + status + " }\n"
	}
	if problems := o.Read("a.yaml", []byte(src)); len(problems) > 0 {
		t.Fatal(problems)
	}
	var lines []int
	for _, l := range o.Lab(&topology.Spec{}, 1).Lost {
		lines = append(lines, l.Origin.Line)
	}
	if !slices.Equal(lines, []int{8, 9}) {
		t.Errorf("told of lines %v", lines)
	}
}

// Endpoints are in one slice with all ports that they have: one that has another number, another
// state on a port, two numbers for it, or not all ports, is in another.
func TestEndpointsWithTheSamePortsAreTogether(t *testing.T) {
	at := func(addr string, ready bool) *topology.Endpoint {
		return &topology.Endpoint{Addr: netip.MustParseAddrPort(addr), Ready: ready}
	}
	near := at("10.0.0.8:80", true)
	near.ForZones = []string{"a"}
	s := &topology.Service{Ports: []*topology.ServicePort{
		{Name: "dns", Protocol: topology.UDP, Endpoints: []*topology.Endpoint{
			at("10.0.0.1:53", true), at("10.0.0.2:53", true), at("10.0.0.3:5353", true), at("10.0.0.4:53", true), at("10.0.0.5:53", false), at("10.0.0.6:53", true), at("10.0.0.6:54", true), at("[fd00::1]:53", true), at("[fd00::2]:53", true)}},
		{Name: "dns-tcp", Protocol: topology.TCP, Endpoints: []*topology.Endpoint{
			at("10.0.0.1:53", true), at("10.0.0.2:53", true), at("10.0.0.3:53", true), at("10.0.0.5:53", true), at("10.0.0.6:53", true), at("[fd00::1]:53", true), at("[fd00::2]:53", true)}},
		{Name: "http", Protocol: topology.TCP, Endpoints: []*topology.Endpoint{at("10.0.0.7:80", true), near}},
		{Name: "more", Protocol: topology.TCP, Endpoints: []*topology.Endpoint{at("10.0.0.7:80", true), at("10.0.0.8:80", true)}},
	}}
	var got []string
	for _, b := range batches(s, func(x *topology.Endpoint) (shared, bool) { return sharedOf(x, ""), true }) {
		line := familyOf(b.six)
		for _, p := range b.ports {
			line += fmt.Sprintf(" %s:%d/%s", p.of.Name, p.number, p.protocol())
		}
		for _, x := range b.endpoints {
			line += " " + x.Addr.Addr().String()
			if !x.Ready {
				line += "!"
			}
		}
		got = append(got, line)
	}
	want := []string{
		"IPv4 dns:53/UDP dns-tcp:53/TCP 10.0.0.1 10.0.0.2 10.0.0.6",
		"IPv4 dns:5353/UDP dns-tcp:53/TCP 10.0.0.3",
		"IPv4 dns:53/UDP 10.0.0.4 10.0.0.5!",
		"IPv4 dns:54/UDP 10.0.0.6",
		"IPv6 dns:53/UDP dns-tcp:53/TCP fd00::1 fd00::2",
		"IPv4 dns-tcp:53/TCP 10.0.0.5",
		"IPv4 http:80/TCP more:80/TCP 10.0.0.7",
		"IPv4 http:80/TCP 10.0.0.8",
		"IPv4 more:80/TCP 10.0.0.8",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s = &topology.Service{Portless: []*topology.Endpoint{at("10.0.0.1:0", true)}}
	if list := batches(s, func(x *topology.Endpoint) (shared, bool) { return sharedOf(x, ""), true }); len(list) != 1 || len(list[0].ports) != 0 || len(list[0].endpoints) != 1 {
		t.Errorf("without ports: %v", list)
	}
}
