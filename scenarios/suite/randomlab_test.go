package suite_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

// block is a block of a scenario, one attribute or nested block a line.
type block struct {
	header string
	lines  []string
}

// script is a scenario as a list of blocks, so that parts of it can be removed.
type script []block

// String is the scenario.
func (s script) String() string {
	var b strings.Builder
	for _, block := range s {
		fmt.Fprintf(&b, "%s {\n", block.header)
		for _, line := range block.lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		b.WriteString("}\n")
	}
	out, _ := source.Format("lab.hcl", []byte(b.String()), nil)
	return string(out)
}

// smaller are the scenarios with one block or line removed, blocks first.
func (s script) smaller() []script {
	var out []script
	for i := len(s) - 1; i >= 0; i-- {
		out = append(out, slices.Delete(slices.Clone(s), i, i+1))
	}
	for i := len(s) - 1; i >= 0; i-- {
		for j := len(s[i].lines) - 1; j >= 0; j-- {
			less := slices.Clone(s)
			less[i].lines = slices.Delete(slices.Clone(s[i].lines), j, j+1)
			out = append(out, less)
		}
	}
	return out
}

// built is a scenario that was loaded and compiled.
type built struct {
	script script
	lab    *topology.Lab
	plan   *plan.Plan
	world  *walk.World
}

// build loads a scenario and makes its plan.
func (s script) build(t testing.TB) (*built, error) {
	t.Helper()
	loaded, err := s.load(t)
	if err != nil {
		return nil, err
	}
	p, err := datapath.Compile(loaded.Lab)
	return &built{s, loaded.Lab, p, walk.New(p)}, err
}

// load loads it as a user's file.
func (s script) load(t testing.TB) (*language.Scenario, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "random.hcl")
	if err := os.WriteFile(path, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, diags := language.Load(path, language.Options{Catalogue: datapath.Catalogue()})
	if diags.HasErrors() {
		return nil, fmt.Errorf("%s\n%s", diags.JSON(), s)
	}
	return loaded, nil
}

// dice makes a random scenario.
type dice struct {
	*rand.Rand
	behind    string // the proxy mode; "": any
	dual      bool
	ipvs      bool
	podRoutes bool
	learns    bool       // nodes learn routes by BGP
	bgp       bool       // and so do routers
	host      *rand.Rand // for host ports, so that labs are the same otherwise
	shared    bool       // every node has the same pod addresses
	cidr      string     // of pods
	relays    bool       // the proxy is a program that makes connections of its own
	nodes     int
	places    []string // the subnet of each node
	routers   []string // those on each link: the subnet, a space, and the router
	clients   int
	pods      int
}

// randomScript is a small lab, always the same for a seed. Consecutive seeds take the
// pod-network modes in turn.
func randomScript(seed uint64) script { return randomIn(seed, datapath.Modes()) }

// randomIn is such a lab in one of some pod-network modes.
func randomIn(seed uint64, modes []podnet.Mode) script { return randomBehind(seed, modes, "") }

// randomBehind is such a lab with a proxy mode; "" takes any.
func randomBehind(seed uint64, modes []podnet.Mode, proxy string) script {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 0)), host: rand.New(rand.NewPCG(seed, 2)), behind: proxy}
	d.dual, d.nodes, d.clients, d.pods = d.one(4), 2+d.IntN(3), d.IntN(3), 1+d.IntN(8)
	mode := modes[seed%uint64(len(modes))].NetworkMode
	d.dual = d.dual && !mode.OnlyIPv4 && !(mode.PodRoutes && slices.ContainsFunc(datapath.Catalogue().Proxies, func(m topology.ProxyMode) bool {
		return m.Name == proxy && m.VirtualServers // what is ambiguous, see proxy
	}))
	d.podRoutes, d.shared = mode.PodRoutes, mode.SharedCIDR
	d.cidr = cmp.Or(mode.DefaultCIDR, "10.244.0.0/16")
	s := script{d.network(mode)}
	if !d.shared {
		s = append(s, d.proxy())
	}
	s = append(s, d.underlay()...)
	for i := range d.nodes {
		s = append(s, d.node(i+1))
	}
	for i := range d.clients {
		s = append(s, d.client(i+1))
	}
	for i := range d.pods {
		s = append(s, d.pod(i+1))
	}
	if d.shared {
		return s
	}
	for i := range 1 + d.IntN(4) {
		s = append(s, d.service(i+1))
	}
	return s
}

// one is true once in n times.
func (d *dice) one(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *dice, list ...T) T { return list[d.IntN(len(list))] }

// add adds a line.
func (b *block) add(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

func (d *dice) network(mode topology.NetworkMode) block {
	b := block{header: "network"}
	b.add("mode = %q", mode.Name)
	if d.dual {
		// Removing this line makes the whole lab single-stack.
		b.add(`pod_cidr = ["10.244.0.0/16", "fd00:10:244::/56"]`)
	}
	if d.one(3) && !d.shared {
		b.add("masquerade_node_traffic = false")
	}
	if mode.FlannelRules() && d.one(4) {
		b.add("flannel_layout = %q", topology.FlannelOld)
	}
	if !d.shared && d.one(5) {
		b.add("docker = true")
	}
	if mode.LearnsRoutes && d.one(2) {
		d.learns, d.bgp = true, d.one(2)
		b.add("%s", pick(d, "bgp {}", "bgp {\nroute_reflectors = [node.n1]\n}", "bgp {\nroute_reflectors = [node.n1, node.n2]\n}"))
	}
	if mode.Tunnel == topology.VXLANTunnel && d.one(3) {
		b.add("%s { direct_routing = true }", mode.Name)
	}
	return b
}

func (d *dice) proxy() block {
	b := block{header: "proxy"}
	// Most labs have a proxy that translates.
	idle := d.one(15)
	// Where the link to a pod has no address, the source of a node's IPv6 packets may be any
	// address of a service.
	ambiguous := d.dual && d.podRoutes
	mode := pick(d, slices.DeleteFunc(datapath.Catalogue().Proxies, func(m topology.ProxyMode) bool {
		if d.behind != "" {
			return m.Name != d.behind
		}
		return m.Exec || m.Translates == idle || ambiguous && m.VirtualServers
	})...)
	b.add("mode = %q", mode.Name)
	d.ipvs = mode.VirtualServers
	if mode.VirtualServers && d.one(2) {
		b.add("%s { %s }", mode.Name, pick(d, "strict_arp = true", `addresses = "local_routes"`, `scheduler = "wrr"`, `scheduler = "sh"`, `scheduler = "lblc"`, `scheduler = "fo"`))
	}
	if d.relays = mode.UserSpace; d.relays {
		return b // it has no other options
	}
	if d.one(5) {
		b.add("masquerade_all = true")
	}
	if d.one(5) {
		b.add(`detect_local = "none"`)
	}
	if d.one(4) {
		b.add("local_node_ports = false")
	}
	if d.one(5) {
		b.add("node_port_addresses = %s", pick(d, `["192.168.0.0/24"]`, `["10.244.0.0/16"]`, `["127.0.0.0/8", "192.168.0.11/32"]`, `["0.0.0.0/0"]`, `["192.168.0.12/32"]`))
	}
	if len(mode.Layouts) > 1 && d.one(4) {
		b.add("%s { layout = %q }", mode.Name, mode.Layouts[1+d.IntN(len(mode.Layouts)-1)].Name)
	}
	return b
}

// underlay is several subnets with the routers that join them, in every third lab. It also
// decides where the nodes are.
func (d *dice) underlay() (out script) {
	subnets := []string{topology.DefaultSubnet}
	if d.one(3) {
		for i := range 1 + d.IntN(2) {
			name := fmt.Sprintf("b%d", i+2)
			out = append(out, block{header: fmt.Sprintf("subnet %q", name)})
			subnets = append(subnets, name)
		}
	}
	for range d.nodes {
		d.places = append(d.places, pick(d, subnets...))
	}
	number := 0
	join := func(a, b string) {
		number++
		r := block{header: fmt.Sprintf("router \"r%d\"", number)}
		for _, s := range []string{a, b} {
			r.add("link %q {\nsubnet = subnet.%s\n}", "to-"+s, s)
			d.routers = append(d.routers, fmt.Sprintf("%s r%d", s, number))
		}
		if d.bgp {
			r.add("bgp { as = %d }", 64512+number)
		}
		if d.one(3) && !d.learns { // which can end sessions of nodes by way of several routers
			r.add("rp_filter = true")
		}
		if d.one(3) {
			// Not what can drop an error on its way back: meaning does not know its source. Nor
			// tunnels beside a proxy in user space: of parallel routers all of its attempts take
			// the same, since a tunnel is between the same two nodes, and meaning tries each anew.
			drop := pick(d, "protocol = \"tcp\"\nport = 8080", "protocol = \"udp\"\nport = 8472")
			if d.relays {
				drop = "protocol = \"tcp\"\nport = 8080"
			}
			r.add("drop {\n%s\n}", drop)
		}
		var routes []string
		for i, place := range d.places { // to the pods of a node on a link
			switch {
			case place != a && place != b || !d.one(3):
			case !d.shared:
				routes = append(routes, fmt.Sprintf(`{ to = "10.244.%d.0/24", via = node.n%d }`, i+1, i+1))
			case routes == nil:
				routes = append(routes, fmt.Sprintf(`{ to = %q, via = node.n%d }`, d.cidr, i+1))
			}
		}
		if routes != nil {
			r.add("routes = [%s]", strings.Join(routes, ", "))
		}
		out = append(out, r)
	}
	parallel := false
	for i := range len(subnets) - 1 {
		join(subnets[d.IntN(i+1)], subnets[i+1])
		// A proxy in user space tries one endpoint after the other, each time by any of the
		// paths: with two choices of them, that is more than the walker follows.
		if d.one(3) && !(parallel && d.relays) {
			join(subnets[d.IntN(i+1)], subnets[i+1])
			parallel = true
		}
	}
	return out
}

// neighbour is a node or a router in a subnet, as a next hop; "": there is none.
func (d *dice) neighbour(subnet string) string {
	var all []string
	for i, place := range d.places {
		if place == subnet {
			all = append(all, fmt.Sprintf("node.n%d.ip", i+1))
		}
	}
	for _, r := range d.routers {
		if s, name, _ := strings.Cut(r, " "); s == subnet {
			all = append(all, fmt.Sprintf("router.%s.link[%q].ip", name, "to-"+s))
		}
	}
	if all == nil {
		return ""
	}
	return pick(d, all...)
}

func (d *dice) node(i int) block {
	b := block{header: fmt.Sprintf("node \"n%d\"", i)}
	if d.places[i-1] != topology.DefaultSubnet {
		b.add("subnet = subnet.%s", d.places[i-1])
	}
	if !d.one(4) {
		b.add("zone = %q", pick(d, "east", "west"))
	}
	if d.one(3) && !d.shared { // a static route to some other node's pods
		via := ""
		for _, r := range d.routers {
			if s, name, _ := strings.Cut(r, " "); s == d.places[i-1] && d.one(2) {
				via = fmt.Sprintf("router.%s.link[%q].ip", name, "to-"+s)
			}
		}
		other := 1 + d.IntN(d.nodes)
		if d.places[other-1] == d.places[i-1] {
			via = fmt.Sprintf(`"192.168.%s.%d"`, strings.TrimPrefix(strings.Replace(d.places[i-1], topology.DefaultSubnet, "0", 1), "b"), 10+other)
		}
		if via != "" && other != i {
			b.add(`routes = [{ to = "10.244.%d.0/24", via = %s }]`, other, via)
		}
	}
	return b
}

func (d *dice) client(i int) block {
	b := block{header: fmt.Sprintf("client \"c%d\"", i)}
	if d.one(2) {
		b.add(`port "http" { port = 8080 }`)
	}
	subnet := pick(d, append([]string{topology.DefaultSubnet}, d.places...)...)
	if subnet != topology.DefaultSubnet {
		b.add("subnet = subnet.%s", subnet)
	}
	if via := d.neighbour(subnet); via != "" && d.one(6) {
		b.add("gateway = %s", via)
	}
	var routes []string
	for _, to := range []string{"10.96.0.0/16", d.cidr, "203.0.113.0/24"} {
		if to == d.cidr && d.podRoutes && d.routers != nil {
			continue // replies that keep their address pass routers, not the node: meaning does not know which drop them
		}
		if via := d.neighbour(subnet); via != "" && d.one(2) {
			routes = append(routes, fmt.Sprintf("{ to = %q, via = %s }", to, via))
		}
	}
	if routes != nil {
		b.add("routes = [%s]", strings.Join(routes, ", "))
	}
	return b
}

func (d *dice) anyNode() string { return fmt.Sprintf("n%d", 1+d.IntN(d.nodes)) }

func (d *dice) pod(i int) block {
	b := block{header: fmt.Sprintf("pod \"p%d\"", i)}
	b.add("node = node.%s", d.anyNode())
	b.add("labels = { app = %q }", pick(d, "a", "a", "b"))
	if d.one(4) {
		b.add("ready = false")
	}
	if d.one(4) {
		b.add("terminating = true")
	}
	http, dns, host := 8080, 5353, d.one(4)
	if host {
		b.add("host_network = true")
		http, dns = 9000+i, 5300+i
	}
	publish := func(port int) string {
		if !host && d.host.IntN(2) == 0 {
			return fmt.Sprintf("\nhost_port = %d", port)
		}
		return ""
	}
	b.add("port \"http\" {\nport = %d%s\n}", http, publish(18000+i))
	if d.one(2) {
		b.add("port \"dns\" {\nport = %d\nprotocol = \"udp\"%s\n}", dns, publish([]int{18000, 15300}[d.host.IntN(2)]+i))
	}
	return b
}

func (d *dice) service(i int) block {
	b := block{header: fmt.Sprintf("service \"s%d\"", i)}
	kind := pick(d, "ClusterIP", "NodePort", "LoadBalancer", "LoadBalancer")
	b.add("type = %q", kind)
	external := kind != "ClusterIP"
	if d.one(3) {
		external = true
		b.add("external_ips = [%s]", pick(d, fmt.Sprintf(`"198.51.100.%d"`, i), `"198.51.100.99"`, d.hostAddress(i), d.hostAddress(i)))
	}
	if kind == "LoadBalancer" {
		d.loadBalancer(&b, i)
	}
	if external && d.one(2) {
		b.add(`external_traffic_policy = "Local"`)
	}
	if d.one(3) {
		b.add(`internal_traffic_policy = "Local"`)
	}
	if d.one(5) {
		b.add(`session_affinity = "ClientIP"`)
	}
	if d.one(4) {
		b.add("traffic_distribution = %q", pick(d, "PreferClose", "PreferSameZone", "PreferSameNode"))
	}
	if d.one(8) {
		b.add("publish_not_ready_addresses = true")
	}
	if d.one(20) {
		b.add(`labels = { "service.kubernetes.io/service-proxy-name" = "other" }`)
	}
	if d.dual && !d.one(3) {
		b.add("ip_family_policy = %q", pick(d, "PreferDualStack", "RequireDualStack"))
	}
	d.backends(&b, i)
	return b
}

// hostAddress is the address of a node or client. With ipvs every node would make it
// local, so there it is an unused address.
func (d *dice) hostAddress(i int) string {
	switch {
	case d.ipvs:
		return fmt.Sprintf(`"198.51.100.%d"`, i)
	case d.one(2):
		return d.clientAddress(i)
	}
	return "node." + d.anyNode() + ".ip"
}

func (d *dice) clientAddress(i int) string {
	if d.clients == 0 {
		return fmt.Sprintf(`"198.51.100.%d"`, i)
	}
	return fmt.Sprintf("client.c%d.ip", 1+d.IntN(d.clients))
}

func (d *dice) loadBalancer(b *block, i int) {
	var parts []string
	if d.one(3) {
		parts = append(parts, "via = [node."+d.anyNode()+"]")
	}
	if d.one(4) {
		parts = append(parts, "ips = ["+pick(d, fmt.Sprintf(`"203.0.113.%d", "198.51.100.%d"`, i, 50+i), d.hostAddress(i), d.hostAddress(i))+"]")
	}
	if d.one(6) {
		parts = append(parts, `ip_mode = "Proxy"`)
	}
	if parts != nil {
		b.add("load_balancer {\n%s\n}", strings.Join(parts, "\n"))
	}
	if d.one(3) {
		b.add("load_balancer_source_ranges = [%s]", pick(d, `"10.244.0.0/16"`, `"192.168.0.0/24"`, `" 192.168.0.11/32"`, `"10.244.1.0/24", "192.168.0.128/25"`, `"10.1.0.0/16", "0.0.0.0/0"`, `"fd00::/8"`))
	}
}

// backends adds ports, and what answers there: selected pods, or endpoint blocks.
func (d *dice) backends(b *block, i int) {
	target := "8080"
	if d.one(6) {
		for k, pod := range d.Perm(d.pods)[:min(d.pods, 1+d.IntN(3))] {
			d.endpoint(b, pod+1, k == 0)
		}
	} else {
		app := pick(d, "a", "a", "b", "none")
		b.add("selector = { app = %q }", app)
		if app != "none" && !d.one(3) {
			target = `"http"`
		}
	}
	// Services may share an address, but not address and port: the meaning of that is
	// undefined.
	b.add("port \"http\" {\nport = %d\ntarget_port = %s\n}", 80+i, target)
	if d.one(2) {
		b.add("port \"dns\" {\nport = %d\ntarget_port = 5353\nprotocol = \"udp\"\n}", 53+i)
	}
	if d.one(4) {
		b.add("port \"other\" {\nport = %d\ntarget_port = 8081\n}", 8000+i)
	}
}

// endpoint adds an endpoint block for a pod, or for a client outside.
func (d *dice) endpoint(b *block, pod int, outside bool) {
	parts := []string{fmt.Sprintf("pod = pod.p%d", pod)}
	if outside && d.one(4) {
		parts = []string{"address = " + d.clientAddress(1), "node = node." + d.anyNode()}
	}
	if d.one(4) {
		parts = append(parts, "ready = false")
		if d.one(2) {
			parts = append(parts, "serving = true", "terminating = true")
		}
	}
	if d.one(4) {
		parts = append(parts, fmt.Sprintf("weight = %d", d.IntN(3)))
	}
	if d.one(2) {
		parts = append(parts, fmt.Sprintf("hints {\nzones = [%s]\nnodes = [node.%s]\n}", pick(d, `"east"`, `"west"`, `"east", "west"`), d.anyNode()))
	}
	b.add("endpoint {\n%s\n}", strings.Join(parts, "\n"))
}
