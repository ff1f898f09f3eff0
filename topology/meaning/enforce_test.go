package meaning

import (
	"net/netip"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// web and shells are policies about the pods of that kind in threeNodes.
func web(more ...func(*topology.PolicySpec)) func(*topology.Spec) {
	return np("default", sel("app", "web"), more...)
}

func shells(more ...func(*topology.PolicySpec)) func(*topology.Spec) {
	return np("default", sel("app", ""), more...)
}

// unused admits only an unused address to the load balancer.
func unused(s *topology.Spec) { s.Services[0].SourceRanges = set([]string{"198.51.100.1/32"}) }

func reject(s *topology.Spec) { s.PolicyOptions.Deny = set("reject") }

// What policies see of connections to services and nodes, and how denied ones end.
// laptop is 192.168.0.100 here.
func TestReachAppliesPoliciesOnThePath(t *testing.T) {
	const laptop, anybody = "192.168.0.100/32", "0.0.0.0/0"
	deny := web(types("Ingress"))
	silent := shells(types("Egress"))
	for _, row := range []struct {
		name  string
		edits []func(*topology.Spec)
		from  string
		to    string
		want  string
	}{
		{"denied", []func(*topology.Spec){deny}, "shell-1", "b-0:8080", "timeout"},
		{"denied on the same node", []func(*topology.Spec){deny}, "shell-1", "a-0:8080", "timeout"},
		{"denied with an error", []func(*topology.Spec){deny, reject}, "shell-1", "b-0:8080", "refused"},
		{"denied by the sender's node", []func(*topology.Spec){silent}, "shell-1", "b-0:8080", "timeout"},
		{"the sender allows, the receiver does not", []func(*topology.Spec){shells(eg()), deny}, "shell-1", "a-0:8080", "timeout"},
		{"both allow", []func(*topology.Spec){shells(eg(pods(sel("app", "web")))), web(in(pods(sel("app", ""))))}, "shell-1", "b-0:8080", "b-0 from shell-1"},
		{"allowed, but nothing listens", []func(*topology.Spec){web(in())}, "shell-1", "b-0:22", "refused"},

		{"a cluster IP is its endpoints", []func(*topology.Spec){shells(eg(pods(sel("app", "web")), port("8080")))}, "shell-1", "cluster", "a-0 from shell-1, b-0 from shell-1"},
		{"a rule about the cluster IP never matches", []func(*topology.Spec){shells(eg(block("10.96.0.0/16")))}, "shell-1", "cluster", "timeout"},
		{"a rule about the service port never matches", []func(*topology.Spec){shells(eg(port("80")))}, "shell-1", "cluster", "timeout"},
		{"endpoints see the client's address", []func(*topology.Spec){web(in(pods(sel("app", ""))))}, "shell-1", "cluster", "a-0 from shell-1, b-0 from shell-1"},
		{"one endpoint is allowed", []func(*topology.Spec){np("default", sel(), in(), eg(block(anybody))), shells(eg(port("9"))), onlyB}, "a-0", "cluster", "b-0 from a-0"},
		{"a service without endpoints is refused", []func(*topology.Spec){unserved}, "shell-1", "cluster", "refused"},
		{"unless egress is denied", []func(*topology.Spec){unserved, silent}, "shell-1", "cluster", "timeout"},

		{"a node port: the client on the dialed node, that node on others", []func(*topology.Spec){web(in(block(laptop)))}, "laptop", "node1:30080", "a-0 from node1/cni0, timeout"},
		{"a node port: no endpoint on that node", []func(*topology.Spec){web(in(block(laptop)))}, "laptop", "node3:30080", "timeout"},
		{"a node port: the node that was dialed is allowed", []func(*topology.Spec){web(in(block("192.168.0.13/32")))}, "laptop", "node3:30080", "a-0 from node3, b-0 from node3"},
		{"a node port: rejected through the node that was dialed", []func(*topology.Spec){deny, reject}, "laptop", "node3:30080", "refused"},
		{"a node port: rules do not see its number", []func(*topology.Spec){web(in(port("30080")))}, "laptop", "node1:30080", "timeout"},
		{"policy Local: the client", []func(*topology.Spec){external, web(in(block(laptop)))}, "laptop", "node1:30080", "a-0 from laptop"},
		{"policy Local: others", []func(*topology.Spec){external, web(in(block("192.168.0.11/32")))}, "laptop", "node1:30080", "timeout"},
		{"a load balancer: the client, on the node it arrives at", []func(*topology.Spec){web(in(block(laptop)))}, "laptop", "203.0.113.1:80", "a-0 from node1/cni0, timeout"},

		{"a load balancer that does not admit the client", []func(*topology.Spec){silent, reject, unused}, "shell-1", "203.0.113.1:80", "refused"},

		{"the own node reaches its pods", []func(*topology.Spec){deny}, "node1", "a-0:8080", "a-0 from node1/cni0"},
		{"another node does not", []func(*topology.Spec){deny}, "node2", "a-0:8080", "timeout"},
		{"another node in a block", []func(*topology.Spec){web(in(block("192.168.0.12/32")))}, "node2", "a-0:8080", "a-0 from node2"},
		{"a node by a cluster IP", []func(*topology.Spec){deny}, "node1", "cluster", "a-0 from node1/cni0, timeout"},
		{"a pod reaches its own node", []func(*topology.Spec){silent}, "shell-1", "node1:22", "refused"},
		{"not where egress to it is enforced", []func(*topology.Spec){silent, enforceHost}, "shell-1", "node1:22", "timeout"},
		{"another node", []func(*topology.Spec){silent}, "shell-1", "node2:22", "timeout"},
		{"another node is judged by its address", []func(*topology.Spec){shells(eg(block("192.168.0.12/32")))}, "shell-1", "node2:22", "refused"},
		{"a pod at another node's port is a node", []func(*topology.Spec){web(in(namespaces(sel()))), onlyB}, "shell-3", "node2:30080", "timeout"},
		{"a pod at another node's port: that node is allowed", []func(*topology.Spec){web(in(block("192.168.0.13/32")))}, "shell-3", "node1:30080", "a-0 from node1/cni0, timeout"},
		{"a pod at its own node's port is itself", []func(*topology.Spec){web(in(pods(sel("app", ""))))}, "shell-1", "node1:30080", "a-0 from node1/cni0, timeout"},

		{"a pod reaches itself", []func(*topology.Spec){web(types("Ingress", "Egress"))}, "a-0", "a-0:8080", "a-0 from a-0"},
		{"a pod reaches itself by its service", []func(*topology.Spec){web(types("Ingress", "Egress"))}, "a-0", "cluster", "a-0 from node1/cni0, timeout"},
		{"the outside", []func(*topology.Spec){silent}, "shell-1", "laptop:22", "timeout"},
		{"the outside in a block", []func(*topology.Spec){shells(eg(block(laptop)))}, "shell-1", "laptop:22", "refused"},
		{"ports of the outside", []func(*topology.Spec){shells(eg(block(anybody), port("23")))}, "shell-1", "laptop:22", "timeout"},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := threeNodes()
			spec.Clients[0].Address = set(netip.MustParseAddr("192.168.0.100"))
			for _, edit := range row.edits {
				edit(spec)
			}
			lab, problems := resolve.Lab(spec, datapath.Catalogue())
			if problems.Failed() {
				t.Fatalf("%v", problems)
			}
			to := row.to
			if to == "laptop:22" {
				to = "192.168.0.100:22"
			}
			if got := said(lab, Reach(lab, dialer(lab, row.from), destination(lab, to), topology.TCP)); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func TestReachOverProtocols(t *testing.T) {
	spec := threeNodes()
	web(in(port("8080/udp")))(spec)
	reject(spec)
	spec.Pods[1].Ports = append(spec.Pods[1].Ports, topology.PortSpec{Name: "u", Port: set(8080), Protocol: set("udp")})
	lab, _ := resolve.Lab(spec, datapath.Catalogue())
	for protocol, want := range map[topology.Protocol]string{topology.TCP: "refused", topology.UDP: "b-0 from shell-1"} {
		if got := said(lab, Reach(lab, dialer(lab, "shell-1"), destination(lab, "b-0:8080"), protocol)); got != want {
			t.Errorf("%s: got %s, want %s", protocol, got, want)
		}
	}
}
