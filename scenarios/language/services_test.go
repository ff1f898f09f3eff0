package language

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netlab/netlab/scenarios/expect/trial"
)

const webPod = `
pod "web" {
  count  = 2
  labels = { app = "web" }
  port "http" { port = 8080 }
}
`

func TestServicesHaveTheFieldsOfKubernetes(t *testing.T) {
	s := loadText(t, twoNodes+webPod+`
service "a" {
  type                        = "LoadBalancer"
  selector                    = { app = "web" }
  labels                      = { tier = "front" }
  external_ips                = [client.laptop, "192.0.2.9"]
  external_traffic_policy     = "Local"
  health_check_node_port      = 32000
  traffic_distribution        = "PreferSameNode"
  publish_not_ready_addresses = true
  load_balancer_source_ranges = [" 10.0.0.0/8 "]
  session_affinity { timeout = "1h" }
  load_balancer {
    ips     = ["192.0.2.1", "192.0.2.2"]
    ip_mode = "Proxy"
    via     = [node.node2]
  }
  port "http" { port = 8080 }
}
service "b" {
  session_affinity = "ClientIP"
  cluster_ips      = ["10.96.0.50"]
  port "http" { port = 8080 }
  endpoint {
    pod = pod.web[0]
    hints {
      zones = ["z"]
      nodes = [node.node1, "node2"]
    }
  }
  endpoint {
    address     = "192.0.2.7"
    node        = node.node1
    port        = 99
    terminating = true
  }
}
`, Options{})
	a, b := s.Lab.Services[0], s.Lab.Services[1]
	for _, row := range []struct{ what, got, want string }{
		{"external IPs", fmt.Sprint(a.ExternalIPs), fmt.Sprintf("[%s 192.0.2.9]", s.Lab.Clients[0].Addrs[0])},
		{"load balancers", fmt.Sprint(a.LoadBalancers), "[{192.0.2.1 true} {192.0.2.2 true}]"},
		{"via", a.Via[0].Name, "node2"},
		{"ranges", fmt.Sprint(a.SourceRanges), "[10.0.0.0/8]"},
		{"health check", fmt.Sprint(a.HealthCheckNodePort), "32000"},
		{"affinity", fmt.Sprint(a.AffinitySeconds, b.AffinitySeconds), "3600 10800"},
		{"distribution", a.TrafficDistribution, "PreferSameNode"},
		{"publish", fmt.Sprint(a.PublishNotReadyAddresses), "true"},
		{"labels", a.Labels["tier"], "front"},
		{"cluster IP", b.ClusterIPs[0].String(), "10.96.0.50"},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %s, want %s", row.what, row.got, row.want)
		}
	}
	var got []string
	for _, e := range b.Ports[0].Endpoints {
		got = append(got, fmt.Sprintf("%d %s %v %v %v", e.Addr.Port(), e.Node, e.Terminating, e.ForZones, e.ForNodes))
	}
	if want := "8080 node1 false [z] [node1 node2], 99 node1 true [] []"; strings.Join(got, ", ") != want {
		t.Errorf("endpoints: got %q, want %q", got, want)
	}
}

func TestNamesResolveAsInDNS(t *testing.T) {
	s := loadText(t, twoNodes+webPod+`
pod "starting" {
  labels = { app = "web" }
  ready  = false
  port "http" { port = 8080 }
}
service "names" {
  selector   = { app = "web" }
  cluster_ip = "None"
  port "http" {
    port        = 80
    target_port = "http"
  }
}
service "alias" {
  type          = "ExternalName"
  external_name = "names.default.svc.cluster.local."
}
service "again" {
  type          = "ExternalName"
  external_name = "alias"
}
service "loop" {
  type          = "ExternalName"
  external_name = "loop"
}
expect "headless" {
  from = node.node1
  to   = [service.names, service.alias, service.again, "again:80", "alias.default:http"]
}
expect "loop" {
  from    = node.node1
  to      = [service.loop, "loop:80"]
  port    = 80
  outcome = "dns"
}
`, Options{})
	for _, target := range s.Expects[0].To {
		if target.Addr.Port() != 80 || len(target.Also) != 1 || target.Addr.Addr() == target.Also[0].Addr() {
			t.Errorf("%s: %v and %v, want both ready pods on the service's port", target.Name, target.Addr, target.Also)
		}
	}
	if n := len(trial.New(s.Expects[0], nil).Flows()); n != 2*5 {
		t.Errorf("%d flows: every address is tried", n)
	}
	for _, target := range s.Expects[1].To {
		if !target.NotFound {
			t.Errorf("%s resolves to %v", target.Name, target.Addr)
		}
	}
}

func TestPlainNamesResolveInTheDialersNamespace(t *testing.T) {
	s := loadText(t, twoNodes+webPod+`
namespace "prod" {}
pod "shop" {
  namespace = "prod"
  labels    = { app = "shop" }
  port "http" { port = 80 }
}
service "web" {
  selector   = { app = "web" }
  cluster_ip = "10.96.0.100"
  port "http" { port = 8080 }
}
service "shop" {
  namespace  = "prod"
  selector   = { app = "shop" }
  cluster_ip = "10.96.0.200"
  port "http" { port = 80 }
}
expect "inside" {
  from = pod.shop
  to   = "shop:80"
}
expect "outside" {
  from = node.node1
  to   = "web:8080"
}
expect "the full name is the same everywhere" {
  from = [pod.shop, node.node1]
  to   = "web.default.svc:8080"
}
`, Options{})
	for i, want := range [][]string{{"10.96.0.200:80"}, {"10.96.0.100:8080"}, {"10.96.0.100:8080"}} {
		for j, target := range s.Expects[i].To {
			if target.Addr.String() != want[j] {
				t.Errorf("%s: %s is %v, want %s", s.Expects[i].Name, target.Name, target.Addr, want[j])
			}
		}
	}
}

func TestNullMeansNotWritten(t *testing.T) {
	s := loadText(t, twoNodes+webPod+`
variable "broken" { default = true }
expect "either" {
  from    = node.node1
  to      = "${pod.web["0"].ip}:1"
  outcome = var.broken ? "refused" : "connected"
  answer  = var.broken ? null : pod.web["0"]
  source  = null
  count   = null
}
`, Options{})
	if e := s.Expects[0]; len(e.Answers) != 0 || e.Outcome != "refused" {
		t.Errorf("%v by %v", e.Outcome, e.Answers)
	}
}

func TestHTTPAndStickyExpectations(t *testing.T) {
	s := loadText(t, twoNodes+webPod+`
service "web" {
  type             = "NodePort"
  selector         = { app = "web" }
  session_affinity = "ClientIP"
  port "http" { port = 8080 }
}
expect "http" {
  from     = client.laptop
  to       = service.web
  protocol = "http"
}
expect "block" {
  from = client.laptop
  to   = service.web
  http {
    path   = "/healthz"
    status = 503
    header = { X-A = 1 }
  }
}
expect "sticky" {
  from   = client.laptop
  to     = service.web
  answer = pod.web
  sticky = true
}
`, Options{})
	h, b, sticky := s.Expects[0], s.Expects[1], s.Expects[2]
	if h.HTTP == nil || h.HTTP.Path != "/" || h.Protocol != "tcp" || trial.New(h, nil).Flows()[0].Path != "/" {
		t.Errorf("http: %+v", h)
	}
	if b.HTTP.Path != "/healthz" || b.HTTP.Status != 503 || b.HTTP.Header["X-A"] != "1" {
		t.Errorf("block: %+v", b.HTTP)
	}
	if !sticky.Sticky || len(trial.New(sticky, nil).Flows()) < 20 || trial.New(sticky, nil).Flows()[0].Path != "" {
		t.Errorf("sticky: %+v", sticky)
	}
}

func TestServicesCanBeReferredTo(t *testing.T) {
	s := loadText(t, twoNodes+webPod+`
service "web" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  external_ips            = ["192.0.2.9"]
  external_traffic_policy = "Local"
  load_balancer_ip        = "192.0.2.1"
  health_check_node_port  = 32000
  port "http" { port = 8080 }
}
service "plain" {
  selector = { app = "web" }
  port "http" { port = 8080 }
}
expect "all" {
  from = client.laptop
  to = [
    "${service.web.load_balancer_ip}:1", "${service.web.external_ips[0]}:2", "${node.node1.ip}:${service.web.health_check_node_port}",
    "192.0.2.5:${service.plain.health_check_node_port + 5 + length(service.plain.external_ips)}",
  ]
}
`, Options{})
	var got []string
	for _, target := range s.Expects[0].To {
		got = append(got, target.Addr.String())
	}
	if want := "192.0.2.1:1 192.0.2.9:2 192.168.0.11:32000 192.0.2.5:5"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}
