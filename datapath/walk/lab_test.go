package walk_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// The lab of most tests. Endpoints of web: a-0, a-1 and b-0; shells are clients.
//
//	node1: a-0 a-1 shell-1 --+-- node2: b-0 shell-2
//	                         +-- node3: shell-3
//	                       laptop
func threeNodes(mode string) topology.Spec {
	both := func(s *topology.ServiceSpec, policy string, nodePort int) {
		s.Type, s.ExternalTrafficPolicy, s.InternalTrafficPolicy = set("NodePort"), set(policy), set(policy)
		s.Ports[0].NodePort = set(nodePort)
	}
	return topology.Spec{
		Network: topology.NetworkSpec{Mode: set(mode), Origin: at(1)},
		Nodes:   []topology.NodeSpec{{Name: "node1", Origin: at(2)}, {Name: "node2", Origin: at(3)}, {Name: "node3", Origin: at(4)}},
		Clients: []topology.ClientSpec{{Name: "laptop", Origin: at(5),
			Routes: []topology.RouteSpec{{To: netip.MustParsePrefix("10.96.0.0/16"), Via: netip.MustParseAddr("192.168.0.11"), Origin: at(6)}},
			Ports:  []topology.PortSpec{{Name: "http", Port: set(80), Origin: at(7)}}}},
		Pods: []topology.PodSpec{
			pod("a", "0", "node1", "web", "a"), pod("a", "1", "node1", "web", "a"), pod("b", "0", "node2", "web", "b"),
			pod("shell", "1", "node1", "shell", ""), pod("shell", "2", "node2", "shell", ""), pod("shell", "3", "node3", "shell", ""),
			edit(pod("host", "2", "node2", "host", "host"), func(p *topology.PodSpec) {
				p.HostNetwork, p.Ports[0].Port = set(true), set(9090)
			}),
		},
		Services: []topology.ServiceSpec{
			service("cluster", "app", "web", func(s *topology.ServiceSpec) { both(s, "Cluster", 30080) }),
			service("local", "app", "web", func(s *topology.ServiceSpec) { both(s, "Local", 30081) }),
			service("remote", "side", "b", func(s *topology.ServiceSpec) { both(s, "Local", 30082) }),
			service("empty", "app", "none", func(s *topology.ServiceSpec) { both(s, "Cluster", 30083) }),
			service("emptylocal", "app", "none", func(s *topology.ServiceSpec) { both(s, "Local", 30084) }),
			service("own", "side", "a", func(s *topology.ServiceSpec) { both(s, "Cluster", 30085) }),
			service("host", "app", "host", func(s *topology.ServiceSpec) { both(s, "Cluster", 30086) }),
			service("datagrams", "app", "web", func(s *topology.ServiceSpec) {
				both(s, "Cluster", 30087)
				s.Ports[0].Protocol, s.Ports[0].TargetPort = set("udp"), set("dns")
			}),
			service("nodatagrams", "app", "none", func(s *topology.ServiceSpec) {
				both(s, "Cluster", 30088)
				s.Ports[0].Protocol, s.Ports[0].TargetPort = set("udp"), set("53")
			}),
		},
	}
}

func at(line int) topology.Origin { return topology.Origin{File: "lab.hcl", Line: line, Column: 1} }

func set[T any](v T) topology.Opt[T] { return topology.Opt[T]{Value: v, Set: true} }

func edit[T any](v T, f func(*T)) T { f(&v); return v }

func pod(block, key, node, app, side string) topology.PodSpec {
	return topology.PodSpec{Block: block, Key: key, Node: set(node), Labels: map[string]string{"app": app, "side": side},
		Ports: []topology.PortSpec{{Name: "http", Port: set(8080), Origin: at(21)},
			{Name: "dns", Port: set(53), Protocol: set("udp"), Origin: at(22)}}, Origin: at(20)}
}

func service(name, label, value string, f func(*topology.ServiceSpec)) topology.ServiceSpec {
	return edit(topology.ServiceSpec{Name: name, Selector: map[string]string{label: value},
		Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80), TargetPort: set("http"), Origin: at(31)}}, Origin: at(30)}, f)
}

// lab is a compiled lab and the names in it.
type lab struct {
	*topology.Lab
	plan *plan.Plan
}

func build(t testing.TB, spec topology.Spec) lab {
	t.Helper()
	l, problems := resolve.Lab(&spec, datapath.Catalogue())
	for _, p := range problems {
		if !p.Warning {
			t.Fatalf("%s: %s", p.Summary, p.Detail)
		}
	}
	p, err := datapath.Compile(l)
	if err != nil {
		t.Fatal(err)
	}
	return lab{l, p}
}

// netns returns a namespace of the plan, to be damaged.
func (l lab) netns(t testing.TB, name string) *plan.Netns {
	t.Helper()
	i := slices.IndexFunc(l.plan.Netns, func(n plan.Netns) bool { return n.Name == name })
	if i < 0 {
		t.Fatalf("no network namespace %q", name)
	}
	return &l.plan.Netns[i]
}

// flow resolves "laptop" and "node1:30080", "service cluster" (its last
// address), "a-0:8080" or an address; a trailing /udp changes the protocol.
func (l lab) flow(t testing.TB, from, to string) flow.Flow {
	t.Helper()
	f := flow.Flow{Protocol: flow.TCP}
	to, udp := strings.CutSuffix(to, "/udp")
	if udp {
		f.Protocol = flow.UDP
	}
	for i := range l.plan.Netns {
		if n := l.plan.Netns[i].Name; strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(n, "node."), "client."), "pod.") == from {
			f.From = n
		}
	}
	host, port, _ := strings.Cut(to, ":")
	if name, ok := strings.CutPrefix(host, "service "); ok {
		for _, s := range l.Services {
			if s.Name == name {
				f.To = netip.AddrPortFrom(s.ClusterIPs[len(s.ClusterIPs)-1], s.Ports[0].Port)
				if n, err := strconv.Atoi(port); err == nil {
					f.To = netip.AddrPortFrom(f.To.Addr(), uint16(n))
				}
			}
		}
	} else if a, err := netip.ParseAddrPort(to); err == nil {
		f.To = a
	} else {
		for i := range l.plan.Netns {
			n := &l.plan.Netns[i]
			if strings.HasSuffix(n.Name, "."+host) {
				f.To = netip.MustParseAddrPort(n.Addrs[0].Prefix.Addr().String() + ":" + port)
			}
		}
	}
	if f.From == "" || !f.To.IsValid() {
		t.Fatalf("no flow from %q to %q", from, to)
	}
	return f
}

// ends lists the possible results of a flow: "a-0 from laptop, refused". Sources are
// named after the owner of the address: pods, clients and nodes for that of eth0, else
// node1/cni0.
func (l lab) ends(p trace.Prediction) string {
	var parts []string
	for _, e := range p.Results() {
		if e.Value.Outcome != flow.Connected {
			parts = append(parts, string(e.Value.Outcome))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s from %s", e.Value.Answer, l.owner(e.Value.Source)))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func (l lab) owner(a netip.Addr) string {
	for _, n := range l.plan.Netns {
		for _, x := range n.Addrs {
			if x.Prefix.Addr() == a {
				name := n.Name[strings.IndexByte(n.Name, '.')+1:]
				if x.Link != "eth0" {
					name += "/" + x.Link
				}
				return name
			}
		}
	}
	return a.String()
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}
