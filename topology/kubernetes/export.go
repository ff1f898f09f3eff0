package kubernetes

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/netlab/netlab/topology"
)

// Manifests writes the cluster of a lab as Kubernetes objects, as it is: every pod on its node,
// every service with its addresses and ports. The spec has what a lab does not keep, such as
// selectors. What no manifest can say is lost.
func Manifests(spec *topology.Spec, lab *topology.Lab) ([]byte, []Lost) {
	var out bytes.Buffer
	e := &exporter{write: func(o tree) {
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		to := yaml.NewEncoder(&out)
		to.SetIndent(2)
		// A buffer takes everything, and what a tree makes can be encoded.
		_ = to.Encode(o.yaml())
		_ = to.Close()
	}}
	e.cluster(spec, lab)
	e.without(spec)
	return out.Bytes(), e.lost
}

// exporter makes the objects of a lab.
type exporter struct {
	lost      []Lost
	write     func(tree)
	serves    bool      // as a server has them: with what it adds to manifests (serve.go)
	families  []string  // of the lab
	endpoints endpoints // of a server
}

func (e *exporter) lose(o topology.Origin, format string, args ...any) {
	e.lost = append(e.lost, Lost{Why: fmt.Sprintf(format, args...), Origin: o})
}

// object writes an object. Fields without a value are left out.
func (e *exporter) object(version, kind string, meta tree, more ...any) {
	e.write(fields(append([]any{"apiVersion", version, "kind", kind, "metadata", append(meta, e.served("uid", uid(kind, meta))...)}, more...)...))
}

// cluster writes all objects of a lab.
func (e *exporter) cluster(spec *topology.Spec, lab *topology.Lab) {
	nodes := map[string]*topology.Node{}
	for _, n := range lab.Nodes {
		nodes[n.Name] = n
	}
	for _, s := range spec.Nodes { // in the order in which they get addresses
		if n := nodes[s.Name]; n != nil {
			e.node(n, s)
		}
	}
	for _, n := range lab.Namespaces {
		e.namespace(n)
	}
	type named struct{ namespace, name string }
	pods := map[named]*topology.Pod{}
	for _, p := range lab.Pods {
		pods[named{p.Namespace, p.Name}] = p
	}
	var written []*topology.Pod // in the order in which nodes take turns
	for _, s := range spec.Pods {
		k := named{s.Namespace.Or(topology.DefaultNamespace), s.Name()}
		if p := pods[k]; p != nil {
			written = append(written, p)
			delete(pods, k)
		}
	}
	e.configMaps(written)
	list, of := e.workloads(written, order(spec, nodes))
	for _, p := range written {
		switch m := of[p]; {
		case m == nil || !m.whole:
			e.pod(p, m)
		case p == m.pods[0]:
			e.workload(m)
		}
	}
	if e.serves {
		for _, m := range list {
			e.workload(m)
		}
	}
	services := map[named]*topology.Service{}
	for _, s := range lab.Services {
		services[named{s.Namespace, s.Name}] = s
	}
	for _, s := range spec.Services {
		k := named{s.Namespace.Or(topology.DefaultNamespace), s.Name}
		if x := services[k]; x != nil {
			e.service(x, s)
			delete(services, k)
		}
	}
	if e.serves { // what nobody has written, such as name servers
		for _, p := range lab.Pods {
			if pods[named{p.Namespace, p.Name}] != nil {
				e.pod(p, nil)
			}
		}
		for _, s := range lab.Services {
			if services[named{s.Namespace, s.Name}] != nil {
				e.service(s, topology.ServiceSpec{})
			}
		}
	}
	addresses := ingressAddresses(lab)
	for _, s := range spec.Ingresses { // in their order
		for _, x := range lab.Ingresses {
			if x.Name == s.Name && x.Namespace == s.Namespace.Or(topology.DefaultNamespace) {
				e.ingress(x, addresses)
			}
		}
	}
	e.gateways(spec, lab, addresses)
	for _, s := range spec.Grants {
		for _, x := range lab.Grants {
			if x.Name == s.Name && x.Namespace == s.Namespace.Or(topology.DefaultNamespace) {
				e.grant(x)
			}
		}
	}
	for _, s := range spec.HTTPRoutes {
		for _, x := range lab.HTTPRoutes {
			if x.Name == s.Name && x.Namespace == s.Namespace.Or(topology.DefaultNamespace) {
				e.route(x)
			}
		}
	}
	for _, p := range spec.Policies {
		e.policy(p)
	}
	for _, p := range spec.ClusterPolicies {
		e.clusterPolicy(p)
	}
}

// order is the order in which nodes take turns.
func order(spec *topology.Spec, nodes map[string]*topology.Node) (out []string) {
	for _, s := range spec.Nodes {
		if nodes[s.Name] != nil {
			out = append(out, s.Name)
		}
	}
	return out
}

func texts[T fmt.Stringer](list []T) (out []string) {
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

func (e *exporter) inNamespace(name, namespace string, labels map[string]string) tree {
	if namespace == topology.DefaultNamespace && !e.serves {
		namespace = ""
	}
	return fields("name", name, "namespace", namespace, "labels", labels)
}

func (e *exporter) namespace(n *topology.Namespace) {
	if e.serves {
		e.servedNamespace(n)
	} else if labels := labelsBut(n.Labels, "kubernetes.io/metadata.name"); n.Name != topology.DefaultNamespace || len(labels) > 0 {
		e.object("v1", "Namespace", fields("name", n.Name, "labels", labels))
	}
}

func (e *exporter) node(n *topology.Node, spec topology.NodeSpec) {
	labels := e.servedLabels(n.Labels, hostnameLabel, n.Name, "kubernetes.io/os", "linux")
	if n.Zone != "" {
		labels[zoneLabel] = n.Zone
	}
	var addresses []tree
	for _, a := range n.Addrs {
		address := fields("type", "InternalIP", "address", a.String())
		if spec.Address.Set && spec.Address.Value == a { // of which an import takes the first
			addresses = slices.Insert(addresses, 0, address)
		} else {
			addresses = append(addresses, address)
		}
	}
	if e.serves {
		addresses = append(addresses, fields("type", "Hostname", "address", n.Name))
	}
	e.object("v1", "Node", fields("name", n.Name, "labels", labels),
		"spec", append(fields("podCIDRs", texts(n.PodCIDRs)), e.nodeSpec(n)...), "status", append(fields("addresses", addresses), e.nodeStatus(n)...))
}

// image has agents as those of labs: they listen, and answer with their name.
const image = "registry.k8s.io/e2e-test-images/agnhost:2.53"

// pod writes a pod, of a workload if m is not nil.
func (e *exporter) pod(p *topology.Pod, m *made) {
	meta := e.inNamespace(p.Name, p.Namespace, p.Labels)
	if p.Key != "" && p.Name == topology.NameOf(p.Block, p.Key) {
		meta = append(meta, field{"generateName", p.Block + "-"})
	}
	meta = append(meta, e.madeBy(m)...)
	if p.Terminating {
		meta = append(meta, field{"deletionTimestamp", e.time("2026-01-01T00:00:00Z")})
	}
	var status tree
	switch {
	case e.serves:
		status = podStatus(p, containers(p))
	case !p.Serving:
		status = fields("conditions", []tree{fields("type", "Ready", "status", "False")})
	}
	e.object("v1", "Pod", meta, "spec", e.podSpec(p, p.Node.Name), "status", status)
	if len(p.Command) > 0 {
		e.lose(p.Origin, "the command of pod %s: its image is not known, so an agent listens on its ports", p.AgentName())
	}
}

// podSpec is a pod on a node; "": on any.
func (e *exporter) podSpec(p *topology.Pod, node string) tree {
	return fields("nodeName", present(node), "hostNetwork", present(p.HostNetwork), "hostname", present(p.Hostname), "subdomain", present(p.Subdomain), "containers", containers(p), "dnsPolicy", e.dnsPolicy(p), "dnsConfig", some(dnsConfigOf(p.DNSConfig)), "volumes", volumes(p),
		"restartPolicy", e.only("Always"), "schedulerName", e.only("default-scheduler"), "serviceAccountName", e.only("default"))
}

// containers are those of a pod: one for each port, with an agent on it.
func containers(p *topology.Pod) (containers []tree) {
	for _, x := range p.Ports {
		port := fields("containerPort", int(x.Number), "protocol", strings.ToUpper(string(x.Protocol)), "hostPort", present(int(x.HostPort)))
		generated := topology.PortSpec{Port: integer{Value: int(x.Number)}, Protocol: str{Value: string(x.Protocol), Set: true}}
		if x.Name != portName(generated) {
			port = append(tree{{"name", x.Name}}, port...)
		}
		args := []string{"serve-hostname", "--port=" + strconv.Itoa(int(x.Number))}
		if x.Protocol != topology.TCP {
			args = append(args, "--http=false", "--"+string(x.Protocol))
		}
		containers = append(containers, fields("name", fmt.Sprintf("%s-%d", x.Protocol, x.Number), "image", image, "args", args, "ports", []tree{port}))
	}
	if containers == nil {
		containers = append(containers, fields("name", "agent", "image", image, "args", []string{"pause"}))
	}
	if list := volumeMounts(p); list != nil {
		containers[0] = append(containers[0], field{"volumeMounts", list})
	}
	return containers
}

// dnsPolicy is the DNS policy of a pod, if it is not the default.
func (e *exporter) dnsPolicy(p *topology.Pod) any {
	if p.DNSPolicy == topology.ClusterFirst {
		return e.only(string(p.DNSPolicy))
	}
	return string(p.DNSPolicy)
}

func dnsConfigOf(c topology.DNSConfig) tree {
	var servers []string
	for _, a := range c.Nameservers {
		servers = append(servers, a.String())
	}
	var options []tree
	for _, o := range c.Options {
		options = append(options, fields("name", o.Name, "value", o.Value))
	}
	return fields("nameservers", servers, "searches", c.Searches, "options", options)
}

func (e *exporter) service(s *topology.Service, spec topology.ServiceSpec) {
	clusterIPs := texts(s.ClusterIPs)
	if len(clusterIPs) == 0 && s.Type != topology.ExternalName {
		clusterIPs = []string{"None"}
	}
	clusterIP := "" // which clusterIPs may not be without
	if len(clusterIPs) > 0 {
		clusterIP = clusterIPs[0]
	}
	var ports []tree
	for _, p := range s.Ports {
		var target any = p.TargetPort
		if n, err := strconv.Atoi(p.TargetPort); err == nil {
			target = n
		}
		ports = append(ports, fields("name", p.Name, "port", int(p.Port), "targetPort", target, "nodePort", present(int(p.NodePort)), "protocol", strings.ToUpper(string(p.Protocol))))
	}
	var affinity any
	if s.AffinitySeconds > 0 {
		affinity = fields("clientIP", fields("timeoutSeconds", s.AffinitySeconds))
	}
	if e.serves {
		spec = e.serviceDefaults(s, spec)
	}
	body := fields("type", string(s.Type), "selector", s.Selector, "clusterIP", clusterIP, "clusterIPs", clusterIPs, "externalName", s.ExternalName, "externalIPs", texts(s.ExternalIPs),
		"externalTrafficPolicy", spec.ExternalTrafficPolicy.Value, "internalTrafficPolicy", spec.InternalTrafficPolicy.Value,
		"ipFamilies", spec.IPFamilies.Value, "ipFamilyPolicy", spec.IPFamilyPolicy.Value, "loadBalancerSourceRanges", spec.SourceRanges.Value,
		"healthCheckNodePort", present(int(s.HealthCheckNodePort)), "sessionAffinity", map[bool]any{true: "ClientIP", false: e.only("None")}[s.AffinitySeconds > 0], "sessionAffinityConfig", affinity,
		"trafficDistribution", spec.TrafficDistribution.Value, "publishNotReadyAddresses", present(s.PublishNotReadyAddresses), "ports", ports)
	var ingress []tree
	for _, b := range s.LoadBalancers {
		ingress = append(ingress, fields("ip", b.Addr.String(), "ipMode", map[bool]string{true: "Proxy", false: "VIP"}[b.Proxy]))
	}
	var status tree
	if ingress != nil || e.serves {
		status = fields("loadBalancer", fields("ingress", ingress))
	}
	e.object("v1", "Service", e.inNamespace(s.Name, s.Namespace, s.Labels), "spec", body, "status", status)
	if len(spec.LoadBalancerVia.Value) > 0 {
		e.lose(spec.LoadBalancerVia.Origin, "via of service %s: the nodes that a load balancer uses are its own business", s.Name)
	}
	if spec.LoadBalancerOn.Set {
		e.lose(spec.LoadBalancerOn.Origin, "the load balancer of service %s: it is outside of the cluster", s.Name)
	}
	if s.Selector == nil || e.serves {
		e.slices(s, spec)
	}
	if e.serves {
		e.legacy(s)
	}
}

// portName is the name of a port in a slice: a server always has one, since kube-proxy ignores
// ports without.
func (e *exporter) portName(name string) tree {
	if e.serves {
		return tree{{"name", name}}
	}
	return fields("name", name)
}

func (e *exporter) endpoint(x *topology.Endpoint, hostname string) tree {
	var target tree
	if x.Pod != nil {
		target = fields("kind", "Pod", "name", x.Pod.Name, "namespace", x.Pod.Namespace)
		target = append(target, e.served("uid", uid("Pod", target))...)
	}
	hint := func(names []string) (out []tree) {
		for _, n := range names {
			out = append(out, fields("name", n))
		}
		return out
	}
	return fields("addresses", []string{x.Addr.Addr().String()},
		"conditions", fields("ready", x.Ready, "serving", x.Serving, "terminating", x.Terminating), "hostname", hostname, "nodeName", x.Node, "targetRef", target, "zone", e.only(x.Zone),
		"hints", some(fields("forZones", hint(x.ForZones), "forNodes", hint(x.ForNodes))))
}

func selectorNode(s topology.SelectorSpec) tree {
	if !s.Set {
		return nil
	}
	var expressions []tree
	for _, x := range s.Expressions {
		expressions = append(expressions, fields("key", x.Key.Value, "operator", x.Operator.Value, "values", x.Values.Value))
	}
	return fields("matchLabels", s.MatchLabels, "matchExpressions", expressions)
}

func (e *exporter) policy(s topology.PolicySpec) {
	selector := selectorNode(s.PodSelector)
	if selector == nil {
		selector = fields()
	}
	rules := func(peers string, list []topology.PolicyRuleSpec) (out []tree) {
		for _, r := range list {
			var from, ports []tree
			for _, p := range r.Peers {
				var block any
				if p.Block.Set {
					var except []string
					for _, x := range p.Except {
						except = append(except, x.Value.String())
					}
					block = fields("cidr", p.Block.Value.String(), "except", except)
				}
				from = append(from, fields("podSelector", selectorNode(p.PodSelector), "namespaceSelector", selectorNode(p.NamespaceSelector), "ipBlock", block))
			}
			for _, p := range r.Ports {
				ports = append(ports, fields("port", portValue(p.Port), "endPort", present(p.EndPort.Value), "protocol", strings.ToUpper(p.Protocol.Or("tcp"))))
			}
			out = append(out, fields(peers, from, "ports", ports))
		}
		return out
	}
	e.object("networking.k8s.io/v1", "NetworkPolicy", e.inNamespace(s.Name, s.Namespace.Or(topology.DefaultNamespace), nil), "spec",
		fields("podSelector", selector, "policyTypes", e.policyTypes(s), "ingress", rules("from", s.Ingress), "egress", rules("to", s.Egress)))
}

// portValue is a port by number or name.
func portValue(o str) any {
	if n, err := strconv.Atoi(o.Value); err == nil {
		return n
	}
	return o.Value
}

func (e *exporter) clusterPolicy(s topology.ClusterPolicySpec) {
	peer := func(p topology.PeerSpec) tree {
		switch {
		case p.Networks.Set:
			return fields("networks", texts(p.Networks.Value))
		case p.PodSelector.Set:
			namespaces := selectorNode(p.NamespaceSelector)
			if namespaces == nil {
				namespaces = fields()
			}
			return fields("pods", fields("namespaceSelector", namespaces, "podSelector", selectorNode(p.PodSelector)))
		}
		return fields("namespaces", selectorNode(p.NamespaceSelector))
	}
	rules := func(peers string, list []topology.PolicyRuleSpec) (out []tree) {
		for _, r := range list {
			var from, protocols []tree
			for _, p := range r.Peers {
				from = append(from, peer(p))
			}
			for _, p := range r.Ports {
				protocols = append(protocols, e.protocol(s, r, p, protocols)...)
			}
			out = append(out, fields("name", r.Name, "action", r.Action.Value, peers, from, "protocols", protocols))
		}
		return out
	}
	e.object("policy.networking.k8s.io/v1alpha2", kindCluster, fields("name", s.Name), "spec",
		fields("tier", s.Tier.Value, "priority", s.Priority.Value, "subject", peer(s.Subject), "ingress", rules("from", s.Ingress), "egress", rules("to", s.Egress)))
}

// protocol is a port of a rule of a cluster policy. A name there is that of a port of any
// protocol, so that it is written once.
func (e *exporter) protocol(s topology.ClusterPolicySpec, r topology.PolicyRuleSpec, p topology.PolicyPortSpec, before []tree) []tree {
	n, err := strconv.Atoi(p.Port.Value)
	var to tree
	switch {
	case p.Port.Set && err != nil:
		name := fields("destinationNamedPort", p.Port.Value)
		if slices.ContainsFunc(before, func(b tree) bool {
			return b[0] == name[0]
		}) {
			return nil
		}
		of := map[string]bool{}
		for _, x := range r.Ports {
			of[x.Protocol.Or("tcp")] = of[x.Protocol.Or("tcp")] || x.Port.Value == p.Port.Value
		}
		if of["tcp"] && of["udp"] && of["sctp"] {
			return []tree{name}
		}
		e.lose(p.Origin, "the protocol of port %q in cluster policy %s: a name there means ports of all protocols", p.Port.Value, s.Name)
		return []tree{name}
	case !p.Port.Set:
		to = fields()
	case p.EndPort.Set:
		to = fields("destinationPort", fields("range", fields("start", n, "end", p.EndPort.Value)))
	default:
		to = fields("destinationPort", fields("number", n))
	}
	return []tree{fields(p.Protocol.Or("tcp"), to)}
}

// without notes what no manifest can say.
func (e *exporter) without(s *topology.Spec) {
	const outside = "it is outside of the cluster"
	const setting = "it is a setting of the cluster, not an object in it"
	note := func(o topology.Origin, what, why string) {
		if o != (topology.Origin{}) {
			e.lose(o, "%s: %s", what, why)
		}
	}
	note(s.Network.Origin, "the network block", setting)
	note(s.Proxy.Origin, "the proxy block", setting)
	note(s.DNS.Origin, "the dns block", setting)
	note(s.Controller.Origin, "the ingress_controller block", "a cluster installs one of its own")
	note(s.PolicyOptions.Origin, "the policies block", setting)
	for _, x := range s.Subnets {
		note(x.Origin, "subnet "+x.Name, outside)
	}
	for _, x := range s.Routers {
		note(x.Origin, "router "+x.Name, outside)
	}
	for _, x := range s.Clients {
		note(x.Origin, "client "+x.Name, outside)
	}
	for _, x := range s.Nodes {
		note(x.Link.Origin, "the link of node "+x.Name, outside)
		note(x.Subnet.Origin, "the subnet of node "+x.Name, outside)
		note(x.Key.Origin, "the key of node "+x.Name, setting)
		for _, r := range x.Routes {
			note(r.Origin, "a route of node "+x.Name, outside)
		}
	}
	for _, x := range s.Pods {
		note(x.Link.Origin, "the link of pod "+x.Name(), setting)
		note(x.Address.Origin, "the address of pod "+x.Name(), "a cluster chooses it")
	}
}
