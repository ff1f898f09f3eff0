package printer

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/topology"
)

// Comments are lines about blocks, by what refers to them, such as pod.web.
type Comments map[string][]string

// Text is the scenario of a lab, not yet aligned.
func Text(s *topology.Spec, about Comments) string {
	p := &printer{spec: s, about: about, pods: map[string]string{}}
	p.network()
	if s.DNS.Written {
		p.begin("dns", "")
		p.block("dns", func() {})
	}
	for _, n := range s.Nodes {
		p.node(n)
	}
	for _, n := range s.Namespaces {
		p.object("namespace", n.Name, n.Written, func() { p.labels("labels", n.Labels) })
	}
	for rest := s.Pods; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Block == rest[0].Block {
			n++
		}
		p.podBlock(rest[:n])
		rest = rest[n:]
	}
	for _, x := range s.Services {
		p.service(x)
	}
	for _, x := range s.Ingresses {
		p.ingress(x)
	}
	for _, x := range s.Gateways {
		p.gateway(x)
	}
	for _, x := range s.HTTPRoutes {
		p.route(x)
	}
	for _, x := range s.Grants {
		p.grant(x)
	}
	for _, x := range s.Policies {
		p.policy(x)
	}
	for _, x := range s.ClusterPolicies {
		p.clusterPolicy(x)
	}
	return p.String()
}

type printer struct {
	bytes.Buffer
	spec  *topology.Spec
	about Comments
	pods  map[string]string // namespace/name to reference
}

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// block writes a block, on one line if it has at most one attribute.
func (p *printer) block(head string, body func()) {
	before := p.Len()
	body()
	inside := string(p.Bytes()[before:])
	p.Truncate(before)
	switch {
	case inside == "":
		p.line("%s {}", head)
	case strings.Count(inside, "\n") == 1 && attribute(inside) && len(head)+len(inside) < 100:
		p.line("%s { %s }", head, strings.TrimSpace(inside))
	default:
		p.line("%s {\n%s}", head, inside)
	}
}

// attribute reports a line that is one, and no block.
func attribute(line string) bool {
	name, _, ok := strings.Cut(line, " = ")
	return ok && !strings.Contains(name, "{")
}

// object writes a block of its own, with its comments and the name that its label is not.
func (p *printer) object(kind, name string, w topology.Written, body func()) {
	p.begin(kind, w.Block)
	p.block(kind+" "+quote(w.Block), func() {
		if name != w.Block {
			p.line("name = %s", quote(name))
		}
		body()
	})
}

// begin separates a block from the one before, unless both are short, and writes its comments.
func (p *printer) begin(kind, label string) {
	comments := p.about[kind+"."+label]
	text := bytes.TrimSuffix(p.Bytes(), []byte("\n"))
	last := string(text[bytes.LastIndexByte(text, '\n')+1:])
	if last != "" && (len(comments) > 0 || !strings.HasPrefix(last, kind+" ")) {
		p.line("")
	}
	for _, c := range comments {
		p.line("%s", Comment(c))
	}
}

// Comment is a text as one line that is a comment: what would end the line is shown, since it may
// come from whoever wrote the manifests.
func Comment(text string) string {
	var b strings.Builder
	b.WriteString("# ")
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func quote(s string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes())
}

// ref refers to an object.
func ref(kind, label, key string) string {
	out := kind + "." + label
	if !hclsyntax.ValidIdentifier(label) {
		out = kind + "[" + quote(label) + "]"
	}
	switch {
	case key == "":
		return out
	case strings.Trim(key, "0123456789") == "":
		return out + "[" + key + "]"
	}
	return out + "[" + quote(key) + "]"
}

func (p *printer) text(name string, o topology.Opt[string]) {
	if o.Set {
		p.line("%s = %s", name, quote(o.Value))
	}
}

func (p *printer) number(name string, o topology.Opt[int]) {
	if o.Set {
		p.line("%s = %d", name, o.Value)
	}
}

func (p *printer) flag(name string, o topology.Opt[bool]) {
	if o.Set {
		p.line("%s = %t", name, o.Value)
	}
}

func (p *printer) texts(name string, o topology.Opt[[]string]) {
	if o.Set {
		p.line("%s = %s", name, list(o.Value))
	}
}

func list(texts []string) string {
	var out []string
	for _, t := range texts {
		out = append(out, quote(t))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// values writes one address or prefix, or a list of them.
func values[T fmt.Stringer](p *printer, name string, o topology.Opt[[]T], alwaysList bool) {
	if !o.Set {
		return
	}
	var out []string
	for _, v := range o.Value {
		out = append(out, v.String())
	}
	if len(out) == 1 && !alwaysList {
		p.line("%s = %s", name, quote(out[0]))
		return
	}
	p.line("%s = %s", name, list(out))
}

// labels writes a map of labels; nil is none.
func (p *printer) labels(name string, labels map[string]string) {
	if len(labels) > 0 {
		p.line("%s = %s", name, mapOf(labels))
	}
}

func mapOf(labels map[string]string) string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		key := k
		if !hclsyntax.ValidIdentifier(k) || slices.Contains([]string{"for", "true", "false", "null"}, k) {
			key = quote(k)
		}
		pairs = append(pairs, key+" = "+quote(labels[k]))
	}
	switch one := strings.Join(pairs, ", "); {
	case one == "":
		return "{}"
	case len(one) < 90:
		return "{ " + one + " }"
	}
	return "{\n" + strings.Join(pairs, "\n") + "\n}"
}

func (p *printer) network() {
	n := p.spec.Network
	if !n.PodCIDRs.Set && !n.ServiceCIDRs.Set && !n.NodeCIDRs.Set {
		return
	}
	p.block("network", func() {
		values(p, "pod_cidr", n.PodCIDRs, false)
		values(p, "service_cidr", n.ServiceCIDRs, false)
		values(p, "node_cidr", n.NodeCIDRs, false)
	})
}

func (p *printer) node(n topology.NodeSpec) {
	p.object("node", n.Name, n.Written, func() {
		p.text("zone", n.Zone)
		if n.Address.Set {
			p.line("address = %s", quote(n.Address.Value.String()))
		}
		p.labels("labels", n.Labels)
	})
}

func (p *printer) namespace(o topology.Opt[string]) {
	if o.Set {
		p.line("namespace = %s", ref("namespace", o.Value, ""))
	}
}

// podBlock writes the instances of a block, which differ in their nodes only.
func (p *printer) podBlock(pods []topology.PodSpec) {
	s := pods[0]
	for _, x := range pods {
		p.pods[x.Namespace.Or(topology.DefaultNamespace)+"/"+x.Name()] = ref("pod", x.Block, x.Key)
	}
	p.begin("pod", s.Block)
	p.block("pod "+quote(s.Block), func() {
		p.instances(pods)
		own := func(name string) string {
			if s.Key == "" || name != s.Name() {
				return quote(name)
			}
			each := "${each.key}"
			if counted(pods) {
				each = "${count.index}"
			}
			return strings.TrimSuffix(quote(name), s.Key+`"`) + each + `"`
		}
		if s.Named.Set {
			p.line("name = %s", own(s.Named.Value))
		}
		p.namespace(s.Namespace)
		p.flag("host_network", s.HostNetwork)
		if s.Hostname.Set {
			p.line("hostname = %s", own(s.Hostname.Value))
		}
		p.text("subdomain", s.Subdomain)
		p.text("workload", s.Workload)
		p.flag("ready", s.Ready)
		p.flag("terminating", s.Terminating)
		p.labels("labels", s.Labels)
		p.text("dns_policy", s.DNSPolicy)
		if c := s.DNSConfig; c.Origin != (topology.Origin{}) {
			p.block("dns_config", func() {
				values(p, "nameservers", c.Nameservers, true)
				p.texts("searches", c.Searches)
				p.texts("options", c.Options)
			})
		}
		for _, x := range s.Ports {
			p.block("port "+quote(x.Name), func() {
				p.number("port", x.Port)
				p.text("protocol", x.Protocol)
				p.number("host_port", x.HostPort)
			})
		}
		for _, f := range s.Program.Files {
			p.file(f)
		}
	})
}

// file writes a file block.
func (p *printer) file(f topology.FileSpec) {
	p.block("file "+quote(f.Path), func() {
		p.text("mode", f.Mode)
		p.line("content = %s", content(f.Content.Value))
	})
}

// content is a text as lines, where that is the same text, else as a string.
func content(s string) string {
	const end = "EOT"
	plain := func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) }
	lines := strings.Split(s, "\n")
	if len(lines) < 3 || lines[len(lines)-1] != "" || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) ||
		slices.ContainsFunc(lines, func(line string) bool { return strings.TrimSpace(line) == end }) {
		return quote(s)
	}
	return "<<" + end + "\n" + strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s) + end
}

// counted reports instances with the keys of count.
func counted(pods []topology.PodSpec) bool {
	for i, x := range pods {
		if x.Key != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// instances says how many pods there are, and where.
func (p *printer) instances(pods []topology.PodSpec) {
	var keys, nodes []string
	own, placed := true, true // each is on the node of its key, on some node
	for _, x := range pods {
		keys, nodes = append(keys, x.Key), append(nodes, ref("node", x.Node.Value, ""))
		own, placed = own && x.Node.Value == x.Key, placed && x.Node.Set
	}
	one := len(slices.Compact(slices.Clone(nodes))) == 1
	var all []string
	for _, n := range p.spec.Nodes {
		all = append(all, n.Name)
	}
	slices.Sort(all)
	switch {
	case pods[0].Key == "":
		if placed {
			p.line("node = %s", nodes[0])
		}
	case counted(pods):
		p.line("count = %d", len(pods))
		if !placed {
			break
		}
		turn := 1
		for turn < len(nodes) && slices.ContainsFunc(pods, func(x topology.PodSpec) bool { return nodes[x.Index] != nodes[x.Index%turn] }) {
			turn++
		}
		switch {
		case one:
			p.line("node = %s", nodes[0])
		case turn < len(nodes):
			p.line("node = [%s][count.index %% %d]", strings.Join(nodes[:turn], ", "), turn)
		default:
			p.line("node = [%s][count.index]", strings.Join(nodes, ", "))
		}
	case own && slices.Equal(keys, all):
		p.line("for_each = node\nnode = each.value")
	case own:
		p.line("for_each = toset(%s)\nnode = node[each.key]", list(keys))
	case !placed || one:
		p.line("for_each = toset(%s)", list(keys))
		if placed {
			p.line("node = %s", nodes[0])
		}
	default:
		var pairs []string
		for i, k := range keys {
			pairs = append(pairs, quote(k)+" = "+nodes[i])
		}
		p.line("for_each = {\n%s\n}\nnode = each.value", strings.Join(pairs, "\n"))
	}
}

func (p *printer) service(s topology.ServiceSpec) {
	p.object("service", s.Name, s.Written, func() {
		p.namespace(s.Namespace)
		p.text("type", s.Type)
		p.labels("selector", s.Selector)
		p.labels("labels", s.Labels)
		p.text("cluster_ip", s.ClusterIP)
		p.texts("cluster_ips", s.ClusterIPs)
		p.texts("ip_families", s.IPFamilies)
		p.text("ip_family_policy", s.IPFamilyPolicy)
		values(p, "external_ips", s.ExternalIPs, true)
		p.text("external_name", s.ExternalName)
		p.text("external_traffic_policy", s.ExternalTrafficPolicy)
		p.text("internal_traffic_policy", s.InternalTrafficPolicy)
		p.number("health_check_node_port", s.HealthCheckNodePort)
		p.texts("load_balancer_source_ranges", s.SourceRanges)
		p.text("traffic_distribution", s.TrafficDistribution)
		p.flag("publish_not_ready_addresses", s.PublishNotReadyAddresses)
		switch {
		case s.AffinitySeconds.Set:
			p.text("session_affinity", s.SessionAffinity)
			p.block("session_affinity", func() { p.number("timeout", s.AffinitySeconds) })
		default:
			p.text("session_affinity", s.SessionAffinity)
		}
		if len(s.LoadBalancerIPs.Value) == 1 && !s.LoadBalancerMode.Set {
			values(p, "load_balancer_ip", s.LoadBalancerIPs, false)
		} else if s.LoadBalancerIPs.Set || s.LoadBalancerMode.Set {
			p.block("load_balancer", func() {
				values(p, "ips", s.LoadBalancerIPs, true)
				p.text("ip_mode", s.LoadBalancerMode)
			})
		}
		for _, x := range s.Ports {
			p.block("port "+quote(x.Name), func() {
				p.number("port", x.Port)
				p.port("target_port", x.TargetPort)
				p.flag("required", x.Required)
				p.number("node_port", x.NodePort)
				p.text("protocol", x.Protocol)
			})
		}
		for _, e := range s.Endpoints {
			p.block("endpoint", func() { p.endpoint(e) })
		}
	})
}

// port writes a number, or the name of a port.
func (p *printer) port(name string, o topology.Opt[string]) {
	if n, err := strconv.Atoi(o.Value); o.Set && err == nil {
		p.number(name, topology.Opt[int]{Value: n, Set: true})
		return
	}
	p.text(name, o)
}

func (p *printer) endpoint(e topology.EndpointSpec) {
	if e.Pod.Set {
		p.line("pod = %s", p.pods[e.Pod.Value])
	}
	if e.Address.Set {
		p.line("address = %s", quote(e.Address.Value.String()))
	}
	if e.Node.Set {
		p.line("node = %s", ref("node", e.Node.Value, ""))
	}
	p.text("hostname", e.Hostname)
	p.number("port", e.Port)
	p.text("port_name", e.PortName)
	p.flag("ready", e.Ready)
	p.flag("serving", e.Serving)
	p.flag("terminating", e.Terminating)
	if e.ForZones.Set || e.ForNodes.Set {
		p.block("hints", func() {
			p.texts("zones", e.ForZones)
			if e.ForNodes.Set {
				var nodes []string
				for _, n := range e.ForNodes.Value {
					nodes = append(nodes, ref("node", n, ""))
				}
				p.line("nodes = [%s]", strings.Join(nodes, ", "))
			}
		})
	}
}

func (p *printer) policy(s topology.PolicySpec) {
	p.object("policy", s.Name, s.Written, func() {
		p.namespace(s.Namespace)
		p.selector("pod_selector", s.PodSelector)
		p.texts("policy_types", s.PolicyTypes)
		p.rules("ingress", "from", s.Ingress)
		p.rules("egress", "to", s.Egress)
	})
}

func (p *printer) clusterPolicy(s topology.ClusterPolicySpec) {
	p.object("cluster_policy", s.Name, s.Written, func() {
		p.text("tier", s.Tier)
		p.number("priority", s.Priority)
		p.block("subject", func() { p.peer(s.Subject) })
		p.rules("ingress", "from", s.Ingress)
		p.rules("egress", "to", s.Egress)
	})
}

func (p *printer) rules(direction, peers string, rules []topology.PolicyRuleSpec) {
	for _, r := range rules {
		p.block(direction, func() {
			if r.Name != "" {
				p.line("name = %s", quote(r.Name))
			}
			p.text("action", r.Action)
			for _, x := range r.Peers {
				p.block(peers, func() { p.peer(x) })
			}
			for _, x := range r.Ports {
				p.block("port", func() {
					p.port("port", x.Port)
					p.number("end_port", x.EndPort)
					p.text("protocol", x.Protocol)
				})
			}
		})
	}
}

func (p *printer) peer(s topology.PeerSpec) {
	p.selector("namespace_selector", s.NamespaceSelector)
	p.selector("pod_selector", s.PodSelector)
	values(p, "networks", s.Networks, true)
	if s.Block.Set {
		p.block("ip_block", func() {
			p.line("cidr = %s", quote(s.Block.Value.String()))
			except := topology.Opt[[]netip.Prefix]{Set: len(s.Except) > 0}
			for _, e := range s.Except {
				except.Value = append(except.Value, e.Value)
			}
			values(p, "except", except, true)
		})
	}
}

// selector writes a map of labels, or a block where there are expressions.
func (p *printer) selector(name string, s topology.SelectorSpec) {
	switch {
	case !s.Set:
	case len(s.Expressions) == 0:
		p.line("%s = %s", name, mapOf(s.MatchLabels))
	default:
		p.block(name, func() {
			p.labels("match_labels", s.MatchLabels)
			for _, e := range s.Expressions {
				p.block("match_expressions", func() {
					p.text("key", e.Key)
					p.text("operator", e.Operator)
					p.texts("values", e.Values)
				})
			}
		})
	}
}
