package language

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/kubernetes"
	"github.com/netlab/netlab/topology/resolve"
)

// leftOut is what an export leaves to the cluster and to the world outside: with them, the
// cluster is the same lab again.
var leftOut = []string{"the network block", "the proxy block", "the dns block", "the ingress_controller block", "the policies block", "subnet ", "router ", "client "}

// ofBlocks are the objects that the blocks dns and ingress_controller make.
var ofBlocks = regexp.MustCompile(`"(name|generateName)": ?"((kube-dns|coredns)[^"]*","namespace": ?"kube-system|ingress-controller[^"]*","namespace": ?"ingress)"`)

// What is exported and imported again is the same lab, for every scenario whose cluster can be
// written as objects; the others are named with the reason.
func TestAnExportIsTheSameLab(t *testing.T) {
	same := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".hcl" {
			return nil
		}
		s, diags := Load(path, Options{Catalogue: catalogue})
		if diags.HasErrors() {
			t.Fatal(diagnosticsText(diags))
		}
		objects, lost := kubernetes.Manifests(s.Spec, s.Lab)
		for _, l := range lost {
			if !containsPrefix(leftOut, l.Why) {
				t.Logf("%s: %s", path, l.Why)
				return nil
			}
		}
		sameLab(t, path, s, objects)
		var served []byte
		for line := range bytes.Lines(kubernetes.Served(s.Spec, s.Lab)) {
			if !ofBlocks.Match(line) { // which these make again
				served = append(append(served, line...), "---\n"...)
			}
		}
		sameLab(t, path+", as served", s, served)
		same++
		return nil
	})
	if err != nil || same < 60 {
		t.Errorf("only %d scenarios were compared: %v", same, err)
	}
}

// sameLab imports objects, and compares the lab with that of which they were made.
func sameLab(t *testing.T, path string, s *Scenario, objects []byte) {
	t.Helper()
	var o kubernetes.Objects
	if problems := o.Read("export.yaml", objects); len(problems) > 0 {
		t.Errorf("%s: %v\n%s", path, problems, objects)
		return
	}
	beside := &topology.Spec{}
	beside.Network.NodeCIDRs.Value = s.Lab.Network.NodeCIDRs
	made := o.Lab(beside, 0)
	if made.Problems.Failed() || len(made.Lost) > 0 {
		t.Errorf("%s: %v %v", path, made.Problems, made.Lost)
	}
	spec := *s.Spec
	spec.Nodes, spec.Namespaces, spec.Pods, spec.Services, spec.Policies, spec.ClusterPolicies = made.Nodes, made.Namespaces, made.Pods, made.Services, made.Policies, made.ClusterPolicies
	spec.Ingresses, spec.HTTPRoutes = made.Ingresses, made.HTTPRoutes
	spec.Gateways, spec.Grants = made.Gateways, made.Grants
	lab, problems := resolve.Lab(&spec, catalogue)
	if problems.Failed() {
		t.Errorf("%s: %v", path, problems.Err())
		return
	}
	again, err := datapath.Compile(lab)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	if changes := plan.Diff(compiled(t, s), again); !changes.Empty() {
		t.Errorf("%s: the import makes another lab:\n%s", path, strings.Join(changes.Lines(), "\n"))
	}
	of := map[string]topology.Workload{}
	for _, p := range lab.Pods {
		of[p.AgentName()] = p.Workload
	}
	for _, p := range s.Lab.Pods {
		if of[p.AgentName()] != p.Workload {
			t.Errorf("%s: pod %s is of %v, was of %v", path, p.AgentName(), of[p.AgentName()], p.Workload)
		}
	}
}

// A workload is exported as such wherever its manifest makes the same pods, with the same names
// on the same nodes, again; else it is written pod by pod.
func TestAWorkloadIsExportedWhereItIsTheSamePods(t *testing.T) {
	const block = `
  labels = { app = "x" }
  port "http" { port = 8080 }
}
`
	head := "node \"b\" {}\nnode \"a\" {}\nnode \"c\" {}\n"
	for text, want := range map[string]string{
		`pod "x" {
  count = 4
  workload = "Deployment"` + block: "kind: Deployment",
		`pod "first" { count = 2 }
pod "x" {
  count = 2
  workload = "ReplicaSet"` + block + `pod "last" {}`: "kind: ReplicaSet",
		`pod "x" {
  workload = "Deployment"` + block: "kind: Deployment",
		`pod "x" {
  count = 2
  node = node.c
  workload = "Deployment"` + block: "nodeName: c",
		`pod "x" {
  count = 3
  hostname = "x-${count.index}"
  subdomain = "peers"
  workload = "StatefulSet"` + block: "serviceName: peers",
		`pod "y" {
  name = "x-${each.key}"
  for_each = toset(["4", "5"])
  workload = "StatefulSet/x"` + block: "start: 4",
		`pod "x" {
  for_each = node
  node = each.value
  host_network = true
  workload = "DaemonSet"` + block: "kind: DaemonSet",
		`pod "x" {
  count = 2
  workload = "Job"` + block: "kind: Job",
		// And where it would not.
		`pod "x" {
  for_each = { one = node.a, two = node.b }
  node = each.value
  workload = "DaemonSet"` + block: "",
		`pod "x" {
  count = 2
  node = [node.a, node.b][count.index]
  workload = "Deployment"` + block: "",
		`pod "x" {
  count = 2
  ready = count.index == 0
  workload = "Deployment"` + block: "",
		`pod "x" {
  workload = "Deployment/other"` + block: "",
	} {
		dir := folder(t, map[string]string{"lab.hcl": head + text})
		s, diags := Load(filepath.Join(dir, "lab.hcl"), Options{Catalogue: catalogue})
		if diags.HasErrors() {
			t.Fatal(text, diagnosticsText(diags))
		}
		objects, lost := kubernetes.Manifests(s.Spec, s.Lab)
		switch bare := bytes.Contains(objects, []byte("kind: Pod")); {
		case want == "" && (!bare || len(lost) != 1 || !strings.HasSuffix(lost[0].Why, "written as pods")):
			t.Errorf("%s\nis not written as pods: %v\n%s", text, lost, objects)
		case want != "" && (bare && !strings.Contains(text, "first") || len(lost) > 0 || !bytes.Contains(objects, []byte(want))):
			t.Errorf("%s\nlost %v:\n%s", text, lost, objects)
		case want != "":
			sameLab(t, text, s, objects)
		}
		if want == "" {
			for _, p := range s.Lab.Pods {
				p.Workload = topology.Workload{}
			}
			sameLab(t, text, s, objects)
			continue
		}
		sameLab(t, text+" as served", s, bytes.ReplaceAll(kubernetes.Served(s.Spec, s.Lab), []byte("\n"), []byte("\n---\n")))
	}
}

func containsPrefix(prefixes []string, s string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// The objects of an export say the same as those that it was made from, and are exported as
// they are.
func TestAnExportOfManifestsIsTheSameObjects(t *testing.T) {
	files, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %v: %v", files, err)
	}
	for _, file := range files {
		s, diags := Import([]string{file}, Options{Catalogue: catalogue})
		if diags.HasErrors() {
			t.Fatal(diagnosticsText(diags))
		}
		objects, lost := kubernetes.Manifests(s.Spec, s.Lab)
		for _, l := range lost {
			if !containsPrefix(leftOut, l.Why) && !strings.HasSuffix(l.Why, "written as pods") {
				t.Errorf("%s: %v", file, l)
			}
		}
		// ValidateService in kubernetes/pkg/apis/core/validation refuses clusterIPs without clusterIP.
		if one, all := bytes.Count(objects, []byte("\n  clusterIP: ")), bytes.Count(objects, []byte("\n  clusterIPs:")); one != all {
			t.Errorf("%s: %d services have clusterIPs, and %d have clusterIP", file, all, one)
		}
		if filepath.Base(file) == "ingress.yaml" && !bytes.Contains(objects, []byte("port:\n                  name: http\n")) {
			t.Errorf("%s: a backend loses the name of its port:\n%s", file, objects)
		}
		exported := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(exported, objects, 0o644); err != nil {
			t.Fatal(err)
		}
		again, diags := Import([]string{exported}, Options{Catalogue: catalogue, Strict: true})
		if diags.HasErrors() {
			t.Fatal(diagnosticsText(diags))
		}
		if changes := plan.Diff(compiled(t, s), compiled(t, again)); !changes.Empty() {
			t.Errorf("%s: the export is another lab:\n%s", file, strings.Join(changes.Lines(), "\n"))
		}
		if twice, _ := kubernetes.Manifests(again.Spec, again.Lab); !bytes.Equal(twice, objects) {
			t.Errorf("%s: exported again, the objects differ:\n%s\nbefore:\n%s", file, twice, objects)
		}
	}
}

// What a lab serves as a cluster of Kubernetes is written down for a lab that has most of it.
func TestServedObjects(t *testing.T) {
	s, diags := Load("testdata/served/shop.hcl", Options{Catalogue: catalogue})
	if diags.HasErrors() {
		t.Fatal(diagnosticsText(diags))
	}
	var got bytes.Buffer
	for line := range bytes.Lines(kubernetes.Served(s.Spec, s.Lab)) {
		if err := json.Indent(&got, line, "", "  "); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	const golden = "testdata/served/shop.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got); -update rewrites it:\n%s", golden, diff)
	}
}
