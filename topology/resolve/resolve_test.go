package resolve

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
)

func set[T any](v T) topology.Opt[T] {
	return topology.Opt[T]{Value: v, Set: true, Origin: topology.Origin{Line: 1}}
}

// twoNodes is a lab with a service, as a base for cases that change one thing.
func twoNodes() *topology.Spec {
	return &topology.Spec{
		Name:    "lab",
		Nodes:   []topology.NodeSpec{{Name: "node1"}, {Name: "node2"}},
		Clients: []topology.ClientSpec{{Name: "laptop"}},
		Pods: []topology.PodSpec{
			{Block: "web", Key: "0", Labels: map[string]string{"app": "web"}, Ports: []topology.PortSpec{{Name: "http", Port: set(8080)}}},
			{Block: "web", Key: "1", Index: 1, Labels: map[string]string{"app": "web"}, Ports: []topology.PortSpec{{Name: "http", Port: set(8080)}}},
		},
		Services: []topology.ServiceSpec{{
			Name: "web", Type: set("NodePort"), Selector: map[string]string{"app": "web"},
			Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80), TargetPort: set("http"), NodePort: set(31380)}},
		}},
	}
}

func TestDefaultsAreThoseOfKubeadmAndFlannel(t *testing.T) {
	lab, problems := Lab(twoNodes(), datapath.Catalogue())
	if len(problems) != 0 {
		t.Fatalf("problems: %v", problems)
	}
	n := lab.Network
	got := []string{n.Mode.Name, n.PodCIDRs[0].String(), n.ServiceCIDRs[0].String(), n.NodeCIDRs[0].String(), lab.Subnets[0].Gateways[0].String(),
		lab.Nodes[0].Addrs[0].String(), lab.Nodes[0].PodCIDRs[0].String(), lab.Nodes[1].Addrs[0].String(), lab.Nodes[1].PodCIDRs[0].String(),
		lab.Pods[0].Node.Name, lab.Pods[1].Node.Name, lab.Namespaces[0].Labels[metadataName], lab.Proxy.Mode.Name}
	want := []string{"vxlan", "10.244.0.0/16", "10.96.0.0/16", "192.168.0.0/24", "192.168.0.1",
		"192.168.0.11", "10.244.1.0/24", "192.168.0.12", "10.244.2.0/24", "node1", "node2", "default", "iptables"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if n.MTU != 1500 || n.VXLAN.VNI != 1 || n.VXLAN.Port != 8472 {
		t.Errorf("mtu %d, vxlan %+v", n.MTU, n.VXLAN)
	}
}

func TestEndpointsAreTheSelectedPods(t *testing.T) {
	spec := twoNodes()
	spec.Pods[1].Terminating = set(true)
	spec.Pods = append(spec.Pods,
		topology.PodSpec{Block: "unready", Ready: set(false), HostNetwork: set(true), Node: set("node2"), Labels: map[string]string{"app": "web"},
			Ports: []topology.PortSpec{{Name: "http", Port: set(9090)}}},
		topology.PodSpec{Block: "portless", Labels: map[string]string{"app": "web"}},
		topology.PodSpec{Block: "other", Labels: map[string]string{"app": "db"}, Ports: []topology.PortSpec{{Name: "http", Port: set(80)}}},
	)
	lab, problems := Lab(spec, datapath.Catalogue())
	if len(problems) != 0 {
		t.Fatalf("problems: %v", problems)
	}
	type endpoint struct {
		addr, node                  string
		ready, serving, terminating bool
	}
	got := map[string]endpoint{}
	for _, e := range lab.Services[0].Ports[0].Endpoints {
		got[e.Pod.Name] = endpoint{e.Addr.String(), e.Node, e.Ready, e.Serving, e.Terminating}
	}
	pods := map[string]*topology.Pod{}
	for _, p := range lab.Pods {
		pods[p.Name] = p
	}
	want := map[string]endpoint{
		"web-0":   {pods["web-0"].Addrs[0].String() + ":8080", "node1", true, true, false},
		"web-1":   {pods["web-1"].Addrs[0].String() + ":8080", "node2", false, true, true},
		"unready": {"192.168.0.12:9090", "node2", false, false, false},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestProblems(t *testing.T) {
	prefixes := func(s ...string) topology.Opt[[]netip.Prefix] {
		var out []netip.Prefix
		for _, p := range s {
			out = append(out, netip.MustParsePrefix(p))
		}
		return set(out)
	}
	addr := func(s string) topology.Opt[netip.Addr] { return set(netip.MustParseAddr(s)) }
	tests := []struct {
		name string
		edit func(*topology.Spec)
		want []string // part of summary and detail, per problem
	}{
		{"duplicate node", func(s *topology.Spec) { s.Nodes = append(s.Nodes, topology.NodeSpec{Name: "node1"}) }, []string{"Duplicate node"}},
		{"duplicate pod by count", func(s *topology.Spec) { s.Pods = append(s.Pods, topology.PodSpec{Block: "web-0"}) }, []string{"Duplicate pod"}},
		{"overlap", func(s *topology.Spec) { s.Network.PodCIDRs = prefixes("10.96.0.0/12") }, []string{"pod_cidr 10.96.0.0/12 overlaps"}},
		{"host bits", func(s *topology.Spec) { s.Network.PodCIDRs = prefixes("10.1.2.3/16") }, []string{"Use 10.1.0.0/16"}},
		{"families", func(s *topology.Spec) {
			s.Network.PodCIDRs = prefixes("10.1.0.0/16", "fd00::/56")
			s.Network.NodeCIDRs = prefixes("10.2.0.0/24")
		}, []string{"IP families differ"}},
		{"no pod CIDR left", func(s *topology.Spec) { s.Network.PodCIDRs = prefixes("10.244.0.0/24") }, []string{"No pod CIDR left"}},
		{"node prefix too short", func(s *topology.Spec) { s.Network.NodePrefix = set(8) }, []string{"from 16 to 29"}},
		{"address outside", func(s *topology.Spec) { s.Nodes[0].Address = addr("10.0.0.1") }, []string{"not in node_cidr"}},
		{"address of the underlay", func(s *topology.Spec) { s.Nodes[0].Address = addr("192.168.0.1") }, []string{"belongs to the underlay"}},
		{"address taken twice", func(s *topology.Spec) { s.Clients[0].Address = addr("192.168.0.11") }, []string{`belongs to node "node1"`}},
		{"pod address of another node", func(s *topology.Spec) { s.Pods[0].Address = addr("10.244.2.9") }, []string{"Address outside its CIDR"}},
		{"pod address of another family", func(s *topology.Spec) { s.Pods[0].Address = addr("fd00::9") }, []string{"Address outside its CIDR"}},
		{"port out of range", func(s *topology.Spec) { s.Pods[0].Ports[0].Port = set(70000) }, []string{"70000"}},
		{"listen twice", func(s *topology.Spec) {
			s.Pods[0].Ports = append(s.Pods[0].Ports, topology.PortSpec{Name: "again", Port: set(8080)})
		}, []string{"Port taken twice"}},
		{"listen twice on a node", func(s *topology.Spec) {
			for i := range s.Pods {
				s.Pods[i].HostNetwork, s.Pods[i].Node = set(true), set("node1")
			}
		}, []string{"Port taken twice"}},
		{"listen on the port of the tunnel", func(s *topology.Spec) {
			s.Pods[0].HostNetwork = set(true)
			s.Pods[0].Ports = []topology.PortSpec{{Name: "otv", Port: set(8472), Protocol: set("udp")}}
		}, []string{"Port taken twice"}},
		{"node port out of range", func(s *topology.Spec) { s.Services[0].Ports[0].NodePort = set(80) }, []string{"30000-32767"}},
		{"node port taken twice", func(s *topology.Spec) {
			s.Services = append(s.Services, s.Services[0])
			s.Services[1].Name = "two"
		}, []string{"Node port taken twice"}},
		{"node port on ClusterIP", func(s *topology.Spec) { s.Services[0].Type = set("ClusterIP") }, []string{"Node port without NodePort"}},
		{"external policy on ClusterIP", func(s *topology.Spec) {
			s.Services[0].Type = topology.Opt[string]{}
			s.Services[0].Ports[0].NodePort = topology.Opt[int]{}
			s.Services[0].ExternalTrafficPolicy = set("Local")
		}, []string{"may only be set for externally-accessible services"}},
		{"unknown type", func(s *topology.Spec) { s.Services[0].Type = set("Nodeport") }, []string{`Did you mean "NodePort"?`}},
		{"unknown mode", func(s *topology.Spec) { s.Network.Mode = set("vxln") }, []string{`Did you mean "vxlan"?`}},
		{"selects nothing", func(s *topology.Spec) { s.Services[0].Selector = map[string]string{"app": "wbe"} }, []string{"nearest labels are app=web"}},
		{"no such target port", func(s *topology.Spec) { s.Services[0].Ports[0].TargetPort = set("htpt") }, []string{`Did you mean "http"?`}},
		{"nothing listens", func(s *topology.Spec) { s.Services[0].Ports[0].TargetPort = set("81") }, []string{"refused"}},
		{"no ports", func(s *topology.Spec) { s.Services[0].Ports = nil }, []string{"Service without ports"}},
		{"unknown node", func(s *topology.Spec) { s.Pods[0].Node = set("nod1") }, []string{`Did you mean "node1"?`}},
		{"unknown namespace", func(s *topology.Spec) { s.Pods[0].Namespace = set("db") }, []string{`namespace "db" {}`}},
		{"no node", func(s *topology.Spec) { s.Nodes = nil; s.Pods = s.Pods[:1] }, []string{"No node for pod", "Selector selects nothing"}},
		{"name", func(s *topology.Spec) { s.Clients[0].Name = "Lap_top" }, []string{`use "lap-top"`}},
		{"cluster IP outside", func(s *topology.Spec) { s.Services[0].ClusterIP = set("10.97.0.1") }, []string{"service_cidr"}},
		{"headless NodePort", func(s *topology.Spec) { s.Services[0].ClusterIP = set("None") }, []string{"Headless NodePort"}},
		{"next hop", func(s *topology.Spec) {
			s.Clients[0].Routes = []topology.RouteSpec{{To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("10.1.1.1")}}
		}, []string{"Next hop not on link"}},
		{"empty range", func(s *topology.Spec) { s.Proxy.NodePortMin = set(32000); s.Proxy.NodePortMax = set(31999) }, []string{"Node port out of range", "Empty node port range"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := twoNodes()
			tt.edit(spec)
			lab, problems := Lab(spec, datapath.Catalogue())
			if lab == nil {
				t.Fatal("no lab")
			}
			var text []string
			for _, p := range problems {
				text = append(text, p.Summary+": "+p.Detail)
				if n := len(strings.Fields(p.Summary)); n > 6 {
					t.Errorf("summary %q has %d words", p.Summary, n)
				}
			}
			all := strings.Join(text, "\n")
			if len(problems) != len(tt.want) {
				t.Errorf("%d problems, want %d:\n%s", len(problems), len(tt.want), all)
			}
			for _, w := range tt.want {
				if !strings.Contains(all, w) {
					t.Errorf("no problem mentions %q:\n%s", w, all)
				}
			}
		})
	}
}

func TestDualStackHasOneAddressPerFamilyEverywhere(t *testing.T) {
	spec := twoNodes()
	spec.Network.PodCIDRs = set([]netip.Prefix{netip.MustParsePrefix("fd00:1::/56"), netip.MustParsePrefix("10.1.0.0/16")})
	spec.Services[0].IPFamilyPolicy = set("PreferDualStack")
	lab, problems := Lab(spec, datapath.Catalogue())
	if len(problems) != 0 {
		t.Fatalf("problems: %v", problems)
	}
	for what, addrs := range map[string][]netip.Addr{
		"node": lab.Nodes[0].Addrs, "client": lab.Clients[0].Addrs, "pod": lab.Pods[0].Addrs, "service": lab.Services[0].ClusterIPs,
	} {
		if len(addrs) != 2 || !addrs[0].Is4() || !addrs[1].Is6() {
			t.Errorf("%s has %v", what, addrs)
		}
	}
	if got := lab.Nodes[0].PodCIDRs[1].String(); got != "fd00:1:0:1::/64" {
		t.Errorf("pod CIDR %s", got)
	}
}

func TestResolveIsDeterministic(t *testing.T) {
	text := func() string {
		lab, problems := Lab(twoNodes(), datapath.Catalogue())
		for _, p := range lab.Pods {
			p.Node = &topology.Node{Name: p.Node.Name}
		}
		b, err := json.Marshal([]any{lab, problems})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := text()
	for range 20 {
		if got := text(); got != first {
			t.Fatalf("differs:\n%s\n%s", got, first)
		}
	}
}

func TestResolveOfNothingHasNoProblem(t *testing.T) {
	for _, s := range []*topology.Spec{nil, {}} {
		if lab, problems := Lab(s, datapath.Catalogue()); lab == nil || len(problems) != 0 {
			t.Errorf("lab %v, problems %v", lab, problems)
		}
	}
}

func FuzzResolveNeverPanics(f *testing.F) {
	f.Add(int64(1), "node1", "10.0.0.0/8", 24, 80)
	f.Add(int64(2), "", "::/0", 64, -1)
	f.Fuzz(func(t *testing.T, n int64, name, cidr string, bits, port int) {
		p, _ := netip.ParsePrefix(cidr)
		spec := twoNodes()
		spec.Nodes = append(spec.Nodes, topology.NodeSpec{Name: name, Address: set(p.Addr())})
		spec.Network = topology.NetworkSpec{PodCIDRs: set([]netip.Prefix{p}), NodePrefix: set(bits), NodePrefix6: set(bits)}
		if n%2 == 0 {
			spec.Network.NodeCIDRs, spec.Network.ServiceCIDRs = spec.Network.PodCIDRs, spec.Network.PodCIDRs
		}
		spec.Pods = append(spec.Pods, topology.PodSpec{Block: name, Index: port, Address: set(p.Addr()), Ports: []topology.PortSpec{{Name: name, Port: set(port)}}})
		spec.Services[0].Ports[0].NodePort = set(port)
		spec.Proxy = topology.ProxySpec{NodePortMin: set(port), NodePortMax: set(bits)}
		Lab(spec, datapath.Catalogue())
	})
}
