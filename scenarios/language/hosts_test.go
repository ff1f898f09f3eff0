package language

import (
	"strings"
	"testing"

	"github.com/netlab/netlab/scenarios/language/names"
)

func TestHostsNameWhatExpectationsDial(t *testing.T) {
	s := loadText(t, twoNodes+webPod+`
namespace "prod" {}
node "web" { address = "192.168.0.99" }
pod "shop" {
  namespace = "prod"
  address   = cidrhost(node.web.pod_cidr, 9)
  node      = node.web
}
service "web" {
  selector   = { app = "web" }
  cluster_ip = "10.96.0.100"
  port "http" { port = 8080 }
}
service "headless" {
  selector   = { app = "web" }
  cluster_ip = "None"
  port "http" { port = 8080 }
}
service "alias" {
  type          = "ExternalName"
  external_name = "web.default.svc.cluster.local"
}
service "elsewhere" {
  type          = "ExternalName"
  external_name = "example.com"
}
expect "nothing special" {
  from = node.node1
  to   = service.web
}
`, Options{})
	addrs := map[string][]string{}
	for line := range strings.Lines(string(names.Hosts(s.Lab))) {
		words := strings.Fields(line)
		for _, name := range words[1:] {
			addrs[name] = append(addrs[name], words[0])
		}
	}
	for name, want := range map[string]int{"localhost": 1, "node1": 1, "web": 1, "web.default.svc.cluster.local": 1,
		"headless": 2, "alias.default": 1, "elsewhere": 0, "shop.prod": 1, "shop": 0} {
		if len(addrs[name]) != want {
			t.Errorf("%s: %v, want %d addresses", name, addrs[name], want)
		}
	}
	for _, name := range []string{"web", "alias"} {
		if got := strings.Join(addrs[name], " "); got != "10.96.0.100" {
			t.Errorf("%s is %s, want the service's address", name, got)
		}
	}
}

// A name must not lead to another pod: on Docker's network every node has the same addresses.
func TestHostsLeaveOutAddressesThatMeanSeveralPods(t *testing.T) {
	s := loadText(t, "network { mode = \"bridge\" }\n"+twoNodes+webPod+`
expect "nothing special" {
  from = node.node1
  to   = "127.0.0.1:9"
  outcome = "refused"
}
`, Options{})
	if text := string(names.Hosts(s.Lab)); strings.Contains(text, "172.17.") || !strings.Contains(text, "node1") {
		t.Errorf("got\n%s", text)
	}
}
