package language

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
)

const policyLab = `
node "node1" {}
node "node2" {}
namespace "db" {}
pod "a" {
  labels = { app = "a" }
  port "http" { port = 80 }
}
pod "b" {
  namespace = namespace.db
  labels    = { app = "b", tier = "x" }
  port "http" { port = 80 }
}
`

// ruleText is a rule in one line: action, who, ports.
func ruleText(r topology.PolicyRule) string {
	var words []string
	for _, p := range r.Peers {
		for _, pod := range p.Pods {
			words = append(words, pod.AgentName())
		}
		if p.Block.IsValid() {
			words = append(words, strings.TrimSpace(fmt.Sprint(p.Block, " ", strings.Trim(fmt.Sprint(p.Except), "[]"))))
		}
		if len(p.Pods) == 0 && !p.Block.IsValid() {
			words = append(words, "none")
		}
	}
	for _, p := range r.Ports {
		words = append(words, fmt.Sprintf("%s:%d-%d%s", p.Protocol, p.First, p.Last, p.Name))
	}
	return string(r.Action) + " " + strings.Join(words, " ")
}

func policyText(t *testing.T, s *Scenario, name string) string {
	t.Helper()
	var out []string
	add := func(d topology.Direction, word string) {
		if d.Isolates {
			out = append(out, word)
			for _, r := range d.Rules {
				out = append(out, ruleText(r))
			}
		}
	}
	for _, p := range s.Lab.Policies {
		if p.Name == name {
			for _, pod := range p.Pods {
				out = append(out, pod.AgentName())
			}
			add(p.Ingress, "ingress:")
			add(p.Egress, "egress:")
			return strings.Join(out, " ")
		}
	}
	t.Fatalf("no policy %s", name)
	return ""
}

func TestPoliciesAsWritten(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"nothing at all", ``, "a ingress:"},
		{"an empty selector", `pod_selector = {}`, "a ingress:"},
		{"an empty selector block", `pod_selector {}`, "a ingress:"},
		{"an empty rule", `ingress {}`, "a ingress: Accept "},
		{"egress rules imply the type", `egress {}`, "a ingress: egress: Accept "},
		{"types alone", `policy_types = ["Egress"]`, "a egress:"},
		{"no types", `policy_types = []`, "a ingress:"},
		{"one type, without a list", `policy_types = "Egress"`, "a egress:"},
		{"a namespace", `namespace = namespace.db`, "db/b ingress:"},
		{"peers of the own namespace", "ingress {\n from { pod_selector = {} }\n}", "a ingress: Accept a"},
		{"peers of other namespaces", "ingress {\n from { namespace_selector = { \"kubernetes.io/metadata.name\" = \"db\" } }\n}", "a ingress: Accept db/b"},
		{"both selectors", "ingress {\n from {\n namespace_selector {}\n pod_selector = { tier = \"x\" }\n}\n}", "a ingress: Accept db/b"},
		{"two peers", "ingress {\n from {\n namespace_selector {}\n}\n from {\n ip_block { cidr = \"10.0.0.0/8\" }\n}\n}", "a ingress: Accept db/b a 10.0.0.0/8"},
		{"a peer that selects no pod", "ingress {\n from { pod_selector = { app = \"none\" } }\n}", "a ingress: Accept none"},
		{"exceptions", "ingress {\n from {\n ip_block {\n cidr = \"10.0.0.0/8\"\n except = [\"10.1.0.0/16\"]\n}\n}\n}", "a ingress: Accept 10.0.0.0/8 10.1.0.0/16"},
		{"an address of the lab", "egress {\n to {\n ip_block { cidr = \"${pod.b.ip}/32\" }\n}\n}", "a ingress: egress: Accept 10.244.2.205/32"},
		{"ports", "ingress {\n port { port = 80 }\n port { port = \"http\" }\n port { protocol = \"udp\" }\n port {\n port = 1\n end_port = 9\n}\n}",
			"a ingress: Accept tcp:80-80 tcp:0-0http udp:0-65535 tcp:1-9"},
		{"expressions as blocks", "ingress {\n from {\n namespace_selector {}\n pod_selector {\n match_expressions {\n key = \"app\"\n operator = \"NotIn\"\n values = [\"a\"]\n}\n}\n}\n}", "a ingress: Accept db/b"},
		{"expressions as a value", "ingress {\n from {\n namespace_selector {}\n pod_selector = { match_labels = { app = \"b\" }, match_expressions = [{ key = \"tier\", operator = \"Exists\" }] }\n}\n}", "a ingress: Accept db/b"},
		{"dynamic rules, peers and ports", `dynamic "ingress" {
  for_each = { x = [80, 81] }
  content {
    dynamic "from" {
      for_each = [ingress.key]
      content {
        namespace_selector = {}
        pod_selector       = { tier = from.value }
      }
    }
    dynamic "port" {
      for_each = ingress.value
      content { port = port.value }
    }
  }
}`, "a ingress: Accept db/b tcp:80-80 tcp:81-81"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := loadText(t, policyLab+"policy \"p\" {\n"+row.text+"\n}\n", Options{})
			got := policyText(t, s, "p")
			if want := strings.ReplaceAll(row.want, "10.244.2.205", podNamed(t, s, "db/b").Addrs[0].String()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestClusterPoliciesAsWritten(t *testing.T) {
	s := loadText(t, policyLab+`
policies {
  style       = "calico"
  deny        = "reject"
  live        = "cut"
  host_egress = "enforce"
}
cluster_policy "late" {
  tier     = "Baseline"
  priority = 0
  subject { pod_selector = { tier = "x" } }
  ingress {
    action = "Deny"
    from { namespace_selector = {} }
  }
}
cluster_policy "early" {
  tier     = "Admin"
  priority = 10
  subject { namespace_selector = {} }
  egress {
    name   = "no metadata"
    action = "Deny"
    to { networks = ["169.254.169.254/32", "10.0.0.0/8"] }
  }
  egress {
    action = "Pass"
    to { pod_selector = { tier = "x" } }
    port { port = "http" }
  }
}
`, Options{})
	var got []string
	for _, p := range s.Lab.ClusterPolicies {
		got = append(got, fmt.Sprint(p.Name, " ", p.Tier, " ", p.Priority, " ", len(p.Pods)))
		for _, r := range append(p.Ingress, p.Egress...) {
			got = append(got, r.Name+": "+ruleText(r))
		}
	}
	want := `early Admin 10 2
no metadata: Deny 169.254.169.254/32 10.0.0.0/8
: Pass db/b tcp:0-0http
late Baseline 0 1
: Deny db/b a`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if o := s.Lab.PolicyOptions; o.Style.Name != "calico" || o.Deny != "reject" || o.Live != "cut" || !o.HostEgress {
		t.Errorf("got %+v", o)
	}
	plain := loadText(t, policyLab, Options{})
	if o := plain.Lab.PolicyOptions; o.Style.Name != "kube-router" || o.Deny != "drop" || o.Live != "keep" || o.HostEgress {
		t.Errorf("got %+v", o)
	}
}

func TestPoliciesInJSON(t *testing.T) {
	archive := map[string]string{"lab.hcl.json": `{
  "node": {"node1": {}, "node2": {}},
  "namespace": {"db": {}},
  "pod": {
    "a": {"labels": {"app": "a"}, "port": {"http": {"port": 80}}, "link": {"delay": "5ms", "loss": "1%"}},
    "b": {"namespace": "${namespace.db}", "labels": {"app": "b", "tier": "x"}, "port": {"http": {"port": 80}}}
  },
  "policies": {"deny": "reject"},
  "policy": {
    "p": {
      "pod_selector": {"match_labels": {"app": "a"}},
      "policy_types": ["Ingress", "Egress"],
      "ingress": [
        {"from": [
          {"namespace_selector": {}, "pod_selector": {"match_expressions": [{"key": "tier", "operator": "In", "values": ["x"]}]}},
          {"ip_block": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}
        ], "port": [{"port": 80}, {"port": 1, "end_port": 9, "protocol": "udp"}]}
      ],
      "egress": {}
    },
    "q": {"pod_selector": {"app": "a"}, "ingress": []}
  },
  "cluster_policy": {"c": {"tier": "Admin", "priority": 1, "subject": {"namespace_selector": {}},
    "egress": [{"name": "n", "action": "Deny", "to": [{"networks": ["10.9.0.0/16"]}]}]}},
  "expect": {"table": {"from": ["${pod.a}", "${pod.b}"], "to": ["${pod.a}", "${pod.b}"], "allow": [["${pod.b}", "${pod.a}"]]}}
}`}
	path := writeFiles(t, archive)
	s, diags := Load(path, Options{Catalogue: datapath.Catalogue()})
	if len(diags) > 0 {
		t.Fatal(diagnosticsText(diags))
	}
	for name, want := range map[string]string{
		"p": "a ingress: Accept db/b 10.0.0.0/8 10.1.0.0/16 tcp:80-80 udp:1-9 egress: Accept ",
		"q": "a ingress:",
	} {
		if got := policyText(t, s, name); got != want {
			t.Errorf("%s: got  %s\nwant %s", name, got, want)
		}
	}
	if got := ruleText(s.Lab.ClusterPolicies[0].Egress[0]); got != "Deny 10.9.0.0/16" {
		t.Errorf("got %s", got)
	}
	if e := s.Expects[0]; fmt.Sprint(e.Allow.Pairs) != "[[true false] [true true]]" || e.Allow.Denied != "refused" {
		t.Errorf("got %+v", e.Allow)
	}
	if l := podNamed(t, s, "a").Link; l.Delay.String() != "5ms" || l.Loss != 0.01 {
		t.Errorf("got %+v", l)
	}
}

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, path := t.TempDir(), ""
	for name, text := range files {
		path = filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}
