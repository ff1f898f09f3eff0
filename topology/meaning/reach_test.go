package meaning

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// threeNodes has pods a-0 on node1 and b-0 on node2 behind service web, and shell-1
// to shell-3, one on each node. laptop is outside and routes cluster IPs to node1.
func threeNodes() *topology.Spec {
	pod := func(block, key, node, app string) topology.PodSpec {
		return topology.PodSpec{Block: block, Key: key, Node: set(node), Labels: map[string]string{"app": app},
			Ports: []topology.PortSpec{{Name: "http", Port: set(8080)}}}
	}
	return &topology.Spec{
		Network: topology.NetworkSpec{Mode: set("host-gw")},
		Nodes:   []topology.NodeSpec{{Name: "node1"}, {Name: "node2"}, {Name: "node3"}},
		Clients: []topology.ClientSpec{{Name: "laptop", Routes: []topology.RouteSpec{{To: netip.MustParsePrefix("10.96.0.0/16"), Via: netip.MustParseAddr("192.168.0.11")}}}},
		Pods: []topology.PodSpec{pod("a", "0", "node1", "web"), pod("b", "0", "node2", "web"),
			pod("shell", "1", "node1", ""), pod("shell", "2", "node2", ""), pod("shell", "3", "node3", "")},
		Services: []topology.ServiceSpec{{
			Name: "web", Type: set("LoadBalancer"), Selector: map[string]string{"app": "web"},
			LoadBalancerIPs: set([]netip.Addr{netip.MustParseAddr("203.0.113.1")}), LoadBalancerVia: set([]string{"node1"}),
			Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80), TargetPort: set("8080"), NodePort: set(30080)}},
		}},
	}
}

func external(s *topology.Spec) { s.Services[0].ExternalTrafficPolicy = set("Local") }

func internal(s *topology.Spec) { s.Services[0].InternalTrafficPolicy = set("Local") }

func keep(s *topology.Spec) { s.Network.MasqueradeNodeTraffic = set(false) }

func undetected(s *topology.Spec) { s.Proxy.DetectLocal = set("none") }

func unserved(s *topology.Spec) { s.Services[0].Selector = map[string]string{"app": "none"} }

func onlyB(s *topology.Spec) { s.Pods[0].Labels = map[string]string{"app": "none"} }

func unrouted(s *topology.Spec) { s.Network.Mode = set("none") }

// byHand gives a node a route.
func byHand(node, to, via string) func(*topology.Spec) {
	return func(s *topology.Spec) {
		for i := range s.Nodes {
			if s.Nodes[i].Name == node {
				s.Nodes[i].Routes = append(s.Nodes[i].Routes, topology.RouteSpec{To: netip.MustParsePrefix(to), Via: netip.MustParseAddr(via)})
			}
		}
	}
}

// The rows are those of the tables that the Kubernetes documentation implies: who
// dials what, which endpoints get it, and which source they see.
func TestReach(t *testing.T) {
	const vip, cluster = "203.0.113.1:80", "cluster"
	for _, row := range []struct {
		name  string
		edits []func(*topology.Spec)
		from  string
		to    string
		want  string
	}{
		{"pods keep their address to cluster IPs", nil, "shell-1", cluster, "a-0 from shell-1, b-0 from shell-1"},
		{"an endpoint reaches itself", nil, "a-0", cluster, "a-0 from node1/cni0, b-0 from a-0"},
		{"nodes do not", nil, "node1", cluster, "a-0 from node1/cni0, b-0 from node1"},
		{"a tunnel has an address", []func(*topology.Spec){func(s *topology.Spec) { s.Network.Mode = set("vxlan") }}, "node1", cluster, "a-0 from node1/cni0, b-0 from node1/flannel.1"},
		{"nor does the outside", nil, "laptop", cluster, "a-0 from node1/cni0, b-0 from node1"},
		{"masquerade all", []func(*topology.Spec){func(s *topology.Spec) { s.Proxy.MasqueradeAll = set(true) }}, "shell-1", cluster, "a-0 from node1/cni0, b-0 from node1"},
		{"no detector", []func(*topology.Spec){undetected}, "laptop", cluster, "a-0 from laptop, b-0 from node1"},
		{"no proxy", []func(*topology.Spec){func(s *topology.Spec) { s.Proxy.Mode = set("none") }}, "shell-1", cluster, "timeout"},
		{"internal policy Local", []func(*topology.Spec){internal}, "shell-1", cluster, "a-0 from shell-1"},
		{"internal policy Local, none here", []func(*topology.Spec){internal}, "shell-3", cluster, "timeout"},
		{"internal policy Local, none anywhere", []func(*topology.Spec){internal, unserved}, "shell-3", cluster, "refused"},
		{"a node port", nil, "laptop", "node3:30080", "a-0 from node3, b-0 from node3"},
		{"a node port, none anywhere", []func(*topology.Spec){unserved}, "laptop", "node3:30080", "refused"},
		{"a node port of localhost", nil, "node1", "127.0.0.1:30080", "a-0 from node1/cni0, b-0 from node1"},
		{"not of localhost", []func(*topology.Spec){func(s *topology.Spec) { s.Proxy.LocalNodePorts = set(false) }}, "node1", "127.0.0.1:30080", "refused"},
		{"external policy Local keeps the client", []func(*topology.Spec){external}, "laptop", "node1:30080", "a-0 from laptop"},
		{"external policy Local, none here", []func(*topology.Spec){external}, "laptop", "node3:30080", "timeout"},
		{"external policy Local, short circuit of pods", []func(*topology.Spec){external, onlyB}, "shell-1", vip, "b-0 from shell-1"},
		{"external policy Local, short circuit of nodes", []func(*topology.Spec){external}, "node3", vip, "a-0 from node3, b-0 from node3"},
		{"external policy Local, no detector, no short circuit", []func(*topology.Spec){external, undetected}, "shell-3", vip, "timeout"},
		{"a pod at another node is a node", []func(*topology.Spec){external}, "shell-3", "node1:30080", "a-0 from node3"},
		{"the trap: a pod that keeps its address", []func(*topology.Spec){external, keep}, "shell-3", "node1:30080", "a-0 from shell-3, timeout"},
		{"only remote endpoints", []func(*topology.Spec){external, keep, onlyB}, "shell-3", "node1:30080", "timeout"},
		{"back to the pod's own node", []func(*topology.Spec){external, keep, onlyB}, "shell-2", "node1:30080", "timeout"},
		{"none anywhere, from outside", []func(*topology.Spec){unserved}, "laptop", vip, "refused"},
		{"none anywhere, from a pod", []func(*topology.Spec){unserved}, "shell-1", vip, "refused"},
		{"none anywhere, from a node itself", []func(*topology.Spec){unserved}, "node1", vip, "timeout"},
		{"terminating endpoints step in", []func(*topology.Spec){external, func(s *topology.Spec) { s.Pods[0].Terminating = set(true) }}, "laptop", vip, "a-0 from laptop"},
		{"not where there are others", []func(*topology.Spec){func(s *topology.Spec) { s.Pods[0].Terminating = set(true) }}, "laptop", vip, "b-0 from node1"},
		{"source ranges", []func(*topology.Spec){func(s *topology.Spec) { s.Services[0].SourceRanges = set([]string{"10.244.1.0/24"}) }}, "shell-1", vip, "a-0 from node1/cni0, b-0 from node1"},
		{"source ranges keep others out", []func(*topology.Spec){func(s *topology.Spec) { s.Services[0].SourceRanges = set([]string{"10.244.1.0/24"}) }}, "laptop", vip, "timeout"},
		{"an unknown port", nil, "shell-1", "203.0.113.1:81", "timeout"},
		{"a pod to a pod", nil, "shell-1", "b-0:8080", "b-0 from shell-1"},
		{"a node to a pod", nil, "node1", "a-0:8080", "a-0 from node1/cni0"},
		{"a pod to another node", nil, "shell-1", "node2:22", "refused"},
		{"the outside knows no pods", nil, "laptop", "a-0:8080", "timeout"},
		{"no routes: a pod of the same node", []func(*topology.Spec){unrouted}, "shell-1", "a-0:8080", "a-0 from shell-1"},
		{"no routes: a pod of another node", []func(*topology.Spec){unrouted}, "shell-1", "b-0:8080", "timeout"},
		{"no routes: another node's pod from a node", []func(*topology.Spec){unrouted}, "node1", "b-0:8080", "timeout"},
		{"no routes: a node", []func(*topology.Spec){unrouted}, "shell-1", "node2:22", "refused"},
		{"no routes: a service, at random", []func(*topology.Spec){unrouted}, "shell-1", cluster, "a-0 from shell-1, timeout"},
		{"no routes: policy Local", []func(*topology.Spec){unrouted, external}, "laptop", "node2:30080", "b-0 from laptop"},
		{"no routes: no way back to a pod that keeps its address", []func(*topology.Spec){unrouted, keep, external}, "shell-1", "node2:30080", "timeout"},
		{"no routes: one written by hand", []func(*topology.Spec){unrouted, byHand("node1", "10.244.2.0/24", "192.168.0.12")}, "shell-1", "b-0:8080", "timeout"},
		{"no routes: and one back", []func(*topology.Spec){unrouted, byHand("node1", "10.244.2.0/24", "192.168.0.12"), byHand("node2", "10.244.1.0/24", "192.168.0.11")},
			"shell-1", "b-0:8080", "b-0 from shell-1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := threeNodes()
			for _, edit := range row.edits {
				edit(spec)
			}
			lab, problems := resolve.Lab(spec, datapath.Catalogue())
			if problems.Failed() {
				t.Fatalf("%v", problems)
			}
			if got := said(lab, Reach(lab, dialer(lab, row.from), destination(lab, row.to), topology.TCP)); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func dialer(lab *topology.Lab, name string) topology.Dialer {
	for _, d := range lab.Dialers() {
		if d.Pod != nil && d.Pod.Name == name || d.Node != nil && d.Node.Name == name || d.Client != nil && d.Client.Name == name {
			return d
		}
	}
	return topology.Dialer{}
}

// destination is the cluster IP of the first service, or host:port.
func destination(lab *topology.Lab, text string) netip.AddrPort {
	if text == "cluster" {
		return netip.AddrPortFrom(lab.Services[0].ClusterIPs[0], 80)
	}
	host, port, _ := strings.Cut(text, ":")
	switch d := dialer(lab, host); {
	case d.Pod != nil:
		host = d.Pod.Addrs[0].String()
	case d.Node != nil:
		host = d.Node.Addrs[0].String()
	}
	return netip.MustParseAddrPort(host + ":" + port)
}

// said is a verdict, with names instead of addresses.
func said(lab *topology.Lab, v Verdict) string {
	var parts []string
	for _, e := range v {
		if e.Outcome != flow.Connected {
			parts = append(parts, string(e.Outcome))
			continue
		}
		from, at := "", network{lab}.placeOf(nil, e.Source)
		switch {
		case at.pod != nil:
			from = at.pod.Name
		case at.client != nil:
			from = at.client.Name
		case slices.Contains(at.node.Addrs, e.Source):
			from = at.node.Name
		case e.Source == at.node.PodCIDRs[0].Addr():
			from = at.node.Name + "/flannel.1"
		default:
			from = at.node.Name + "/cni0"
		}
		parts = append(parts, e.Answer+" from "+from)
	}
	return strings.Join(parts, ", ")
}

func TestReachOfOtherFamiliesAndNoDialer(t *testing.T) {
	lab, _ := resolve.Lab(threeNodes(), datapath.Catalogue())
	for _, v := range []Verdict{
		Reach(lab, dialer(lab, "shell-1"), netip.MustParseAddrPort("[fd00::1]:80"), topology.TCP),
		Reach(lab, dialer(lab, "node1"), netip.MustParseAddrPort("[fd00::1]:80"), topology.TCP),
		Reach(lab, topology.Dialer{}, netip.MustParseAddrPort("10.96.0.1:80"), topology.TCP),
	} {
		if len(v) != 1 || v[0].Outcome != flow.Unreachable {
			t.Errorf("got %v", v)
		}
	}
}

// The tunnel's socket accepts what comes to its port, and does not answer.
func TestReachOfThePortOfATunnel(t *testing.T) {
	for _, row := range []struct {
		mode     string
		protocol topology.Protocol
		want     flow.Outcome
	}{{"vxlan", topology.UDP, flow.Timeout}, {"vxlan", topology.TCP, flow.Refused}, {"host-gw", topology.UDP, flow.Refused}} {
		spec := threeNodes()
		spec.Network.Mode = set(row.mode)
		lab, _ := resolve.Lab(spec, datapath.Catalogue())
		v := Reach(lab, dialer(lab, "shell-1"), netip.AddrPortFrom(lab.Nodes[1].Addrs[0], 8472), row.protocol)
		if len(v) != 1 || v[0].Outcome != row.want {
			t.Errorf("%s, %s: got %v, want %s", row.mode, row.protocol, v, row.want)
		}
	}
}

// set is a written attribute.

// set is a written attribute.
func set[T any](v T) topology.Opt[T] {
	return topology.Opt[T]{Value: v, Set: true, Origin: topology.Origin{Line: 1}}
}
