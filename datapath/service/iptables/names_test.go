package iptables

import (
	"testing"

	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// The values come from iptables-save output of real clusters.
func TestChainNamesAreThoseOfKubeProxy(t *testing.T) {
	for _, row := range []struct {
		port     string
		protocol topology.Protocol
		want     string
	}{
		{"default/nginx-basic:http", topology.TCP, "KUBE-SVC-WWRFY3PZ7W3FGMQW"},
		{"default/webapp", topology.TCP, "KUBE-SVC-2IRACUALRELARSND"},
		{"kube-system/kube-dns:dns", topology.UDP, "KUBE-SVC-TCOU7JCQXEZGVUNU"},
		{"default/kubernetes:https", topology.TCP, "KUBE-SVC-NPX46M4PTMTKRN6Y"},
	} {
		if got := namesOf(row.port, row.protocol).svc; got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.port, row.protocol, got, row.want)
		}
	}
	n := namesOf("default/webapp", topology.TCP)
	if n.svl != "KUBE-SVL-2IRACUALRELARSND" || n.ext != "KUBE-EXT-2IRACUALRELARSND" {
		t.Errorf("the chains of a port share their hash: %+v", n)
	}
	if got, want := endpointChain("default/nginx-basic:http", topology.TCP, "192.168.0.7:80"), "KUBE-SEP-BEMSLTMJA26ZCLYL"; got != want {
		t.Errorf("endpoint: got %s, want %s", got, want)
	}
}

func TestUnnamedPortsHaveNoColon(t *testing.T) {
	svc := &topology.Service{Name: "web", Namespace: "default"}
	for name, want := range map[string]string{"": "default/web", "http": "default/web:http"} {
		if got := portName(&service.Port{Service: svc, Port: &topology.ServicePort{Name: name}}, false); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
