package topology

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// threeNodes has pods a-0 on node1 and b-0 on node2 behind service web, and shell-1
// to shell-3, one on each node. laptop is outside and routes cluster IPs to node1.
func threeNodes() *Spec {
	pod := func(block, key, node, app string) PodSpec {
		return PodSpec{Block: block, Key: key, Node: set(node), Labels: map[string]string{"app": app},
			Ports: []PortSpec{{Name: "http", Port: set(8080)}}}
	}
	return &Spec{
		Network: NetworkSpec{Mode: set("host-gw")},
		Nodes:   []NodeSpec{{Name: "node1"}, {Name: "node2"}, {Name: "node3"}},
		Clients: []ClientSpec{{Name: "laptop", Routes: []RouteSpec{{To: netip.MustParsePrefix("10.96.0.0/16"), Via: netip.MustParseAddr("192.168.0.11")}}}},
		Pods: []PodSpec{pod("a", "0", "node1", "web"), pod("b", "0", "node2", "web"),
			pod("shell", "1", "node1", ""), pod("shell", "2", "node2", ""), pod("shell", "3", "node3", "")},
		Services: []ServiceSpec{{
			Name: "web", Type: set("LoadBalancer"), Selector: map[string]string{"app": "web"},
			LoadBalancerIPs: addrs("203.0.113.1"), LoadBalancerVia: set([]string{"node1"}),
			Ports: []ServicePortSpec{{Name: "http", Port: set(80), TargetPort: set("8080"), NodePort: set(30080)}},
		}},
	}
}

func external(s *Spec) { s.Services[0].ExternalTrafficPolicy = set("Local") }

func internal(s *Spec) { s.Services[0].InternalTrafficPolicy = set("Local") }

func keep(s *Spec) { s.Network.MasqueradeNodeTraffic = set(false) }

func undetected(s *Spec) { s.Proxy.DetectLocal = set("none") }

func unserved(s *Spec) { s.Services[0].Selector = map[string]string{"app": "none"} }

func onlyB(s *Spec) { s.Pods[0].Labels = map[string]string{"app": "none"} }

// The rows are those of the tables that the Kubernetes documentation implies: who
// dials what, which endpoints get it, and whom they see.
func TestReach(t *testing.T) {
	const vip, cluster = "203.0.113.1:80", "cluster"
	for _, row := range []struct {
		name  string
		edits []func(*Spec)
		from  string
		to    string
		want  string
	}{
		{"pods keep their address to cluster IPs", nil, "shell-1", cluster, "a-0 from shell-1, b-0 from shell-1"},
		{"an endpoint reaches itself", nil, "a-0", cluster, "a-0 from node1/cni0, b-0 from a-0"},
		{"nodes do not", nil, "node1", cluster, "a-0 from node1/cni0, b-0 from node1"},
		{"a tunnel has an address", []func(*Spec){func(s *Spec) { s.Network.Mode = set("vxlan") }}, "node1", cluster, "a-0 from node1/cni0, b-0 from node1/flannel.1"},
		{"nor does the outside", nil, "laptop", cluster, "a-0 from node1/cni0, b-0 from node1"},
		{"masquerade all", []func(*Spec){func(s *Spec) { s.Proxy.MasqueradeAll = set(true) }}, "shell-1", cluster, "a-0 from node1/cni0, b-0 from node1"},
		{"no detector", []func(*Spec){undetected}, "laptop", cluster, "a-0 from laptop, b-0 from node1"},
		{"no proxy", []func(*Spec){func(s *Spec) { s.Proxy.Mode = set("none") }}, "shell-1", cluster, "timeout"},
		{"internal policy Local", []func(*Spec){internal}, "shell-1", cluster, "a-0 from shell-1"},
		{"internal policy Local, none here", []func(*Spec){internal}, "shell-3", cluster, "timeout"},
		{"internal policy Local, none anywhere", []func(*Spec){internal, unserved}, "shell-3", cluster, "refused"},
		{"a node port", nil, "laptop", "node3:30080", "a-0 from node3, b-0 from node3"},
		{"a node port, none anywhere", []func(*Spec){unserved}, "laptop", "node3:30080", "refused"},
		{"a node port of localhost", nil, "node1", "127.0.0.1:30080", "a-0 from node1/cni0, b-0 from node1"},
		{"not of localhost", []func(*Spec){func(s *Spec) { s.Proxy.LocalNodePorts = set(false) }}, "node1", "127.0.0.1:30080", "refused"},
		{"external policy Local keeps the client", []func(*Spec){external}, "laptop", "node1:30080", "a-0 from laptop"},
		{"external policy Local, none here", []func(*Spec){external}, "laptop", "node3:30080", "timeout"},
		{"external policy Local, short cut of pods", []func(*Spec){external, onlyB}, "shell-1", vip, "b-0 from shell-1"},
		{"external policy Local, short cut of nodes", []func(*Spec){external}, "node3", vip, "a-0 from node3, b-0 from node3"},
		{"external policy Local, no detector, no short cut", []func(*Spec){external, undetected}, "shell-3", vip, "timeout"},
		{"a pod at another node is a node", []func(*Spec){external}, "shell-3", "node1:30080", "a-0 from node3"},
		{"the trap: a pod that keeps its address", []func(*Spec){external, keep}, "shell-3", "node1:30080", "a-0 from shell-3, timeout"},
		{"only remote endpoints", []func(*Spec){external, keep, onlyB}, "shell-3", "node1:30080", "timeout"},
		{"back to the pod's own node", []func(*Spec){external, keep, onlyB}, "shell-2", "node1:30080", "timeout"},
		{"none anywhere, from outside", []func(*Spec){unserved}, "laptop", vip, "refused"},
		{"none anywhere, from a pod", []func(*Spec){unserved}, "shell-1", vip, "refused"},
		{"none anywhere, from a node itself", []func(*Spec){unserved}, "node1", vip, "timeout"},
		{"terminating endpoints step in", []func(*Spec){external, func(s *Spec) { s.Pods[0].Terminating = set(true) }}, "laptop", vip, "a-0 from laptop"},
		{"not where there are others", []func(*Spec){func(s *Spec) { s.Pods[0].Terminating = set(true) }}, "laptop", vip, "b-0 from node1"},
		{"source ranges", []func(*Spec){func(s *Spec) { s.Services[0].SourceRanges = set([]string{"10.244.1.0/24"}) }}, "shell-1", vip, "a-0 from node1/cni0, b-0 from node1"},
		{"source ranges keep others out", []func(*Spec){func(s *Spec) { s.Services[0].SourceRanges = set([]string{"10.244.1.0/24"}) }}, "laptop", vip, "timeout"},
		{"an unknown port", nil, "shell-1", "203.0.113.1:81", "timeout"},
		{"a pod to a pod", nil, "shell-1", "b-0:8080", "b-0 from shell-1"},
		{"a node to a pod", nil, "node1", "a-0:8080", "a-0 from node1/cni0"},
		{"a pod to another node", nil, "shell-1", "node2:22", "refused"},
		{"the outside knows no pods", nil, "laptop", "a-0:8080", "timeout"},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := threeNodes()
			for _, edit := range row.edits {
				edit(spec)
			}
			lab, problems := Resolve(spec)
			if problems.Failed() {
				t.Fatalf("%v", problems)
			}
			if got := said(lab, Reach(lab, dialer(lab, row.from), destination(lab, row.to), TCP)); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func dialer(lab *Lab, name string) Dialer {
	for _, d := range lab.Dialers() {
		if d.Pod != nil && d.Pod.Name == name || d.Node != nil && d.Node.Name == name || d.Client != nil && d.Client.Name == name {
			return d
		}
	}
	return Dialer{}
}

// destination is the cluster IP of the first service, or host:port.
func destination(lab *Lab, text string) netip.AddrPort {
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
func said(lab *Lab, v Verdict) string {
	var parts []string
	for _, e := range v {
		if e.Outcome != Connected {
			parts = append(parts, string(e.Outcome))
			continue
		}
		from, at := "", lab.placeOf(e.Source)
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

func TestReachOfOtherFamiliesAndNobody(t *testing.T) {
	lab, _ := Resolve(threeNodes())
	for _, v := range []Verdict{
		Reach(lab, dialer(lab, "shell-1"), netip.MustParseAddrPort("[fd00::1]:80"), TCP),
		Reach(lab, dialer(lab, "node1"), netip.MustParseAddrPort("[fd00::1]:80"), TCP),
		Reach(lab, Dialer{}, netip.MustParseAddrPort("10.96.0.1:80"), TCP),
	} {
		if len(v) != 1 || v[0].Outcome != Unreachable {
			t.Errorf("got %v", v)
		}
	}
}

// The tunnel's socket takes what comes to its port, and says nothing.
func TestReachOfThePortOfATunnel(t *testing.T) {
	for _, row := range []struct {
		mode     string
		protocol Protocol
		want     Outcome
	}{{"vxlan", UDP, Timeout}, {"vxlan", TCP, Refused}, {"host-gw", UDP, Refused}} {
		spec := threeNodes()
		spec.Network.Mode = set(row.mode)
		lab, _ := Resolve(spec)
		v := Reach(lab, dialer(lab, "shell-1"), netip.AddrPortFrom(lab.Nodes[1].Addrs[0], 8472), row.protocol)
		if len(v) != 1 || v[0].Outcome != row.want {
			t.Errorf("%s, %s: got %v, want %s", row.mode, row.protocol, v, row.want)
		}
	}
}
