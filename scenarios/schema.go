package scenarios

import "github.com/hashicorp/hcl/v2"

// schema says what a block may hold. Planned names belong to the language, but
// this version answers them with "not supported yet".
type schema struct {
	kind          string // as a sentence names the block
	attrs         []string
	plannedAttrs  []string
	blocks        []nested
	plannedBlocks []nested
}

// nested is a block inside a block, or at the top of a file.
type nested struct {
	name    string
	labeled bool
}

func named(labeled bool, names ...string) []nested {
	var out []nested
	for _, n := range names {
		out = append(out, nested{n, labeled})
	}
	return out
}

// The blocks at the top of a file, and what each may hold.
func fileSchema() schema {
	return schema{
		kind: "scenario",
		blocks: append(named(false, "netlab", "locals", "network", "proxy", "policies", "matrix"),
			named(true, "variable", "node", "client", "namespace", "pod", "service", "policy", "cluster_policy", "expect")...),
		plannedBlocks: named(true, "ingress", "step"),
	}
}

func netlabSchema() schema {
	return schema{kind: "netlab block", attrs: []string{"required_version", "name", "description"}}
}

func variableSchema() schema {
	return schema{kind: "variable", attrs: []string{"type", "default", "description", "sensitive"}, blocks: named(false, "validation")}
}

func validationSchema() schema {
	return schema{kind: "validation block", attrs: []string{"condition", "error_message"}}
}

func networkSchema() schema {
	return schema{
		kind:          "network",
		attrs:         []string{"mode", "pod_cidr", "service_cidr", "node_cidr", "load_balancer_cidr", "node_prefix", "mtu", "masquerade_node_traffic"},
		blocks:        named(false, "vxlan", "host-gw"),
		plannedBlocks: named(false, "bridge", "udp", "routed", "ipip", "wireguard", "docker", "ipsec", "ebpf"),
	}
}

func matrixSchema() schema { return schema{kind: "matrix block", attrs: AxisNames()} }

func vxlanSchema() schema {
	return schema{kind: "vxlan block", attrs: []string{"vni", "port", "direct_routing"}}
}

func hostGatewaySchema() schema { return schema{kind: "host-gw block"} }

func proxySchema() schema {
	return schema{
		kind:          "proxy",
		attrs:         []string{"mode", "masquerade_all", "detect_local", "node_port_range", "node_port_addresses", "local_node_ports"},
		blocks:        named(false, "iptables", "ipvs"),
		plannedBlocks: named(false, "nftables"),
	}
}

func ipvsSchema() schema {
	return schema{kind: "ipvs block", attrs: []string{"scheduler", "strict_arp", "addresses"}}
}

func iptablesSchema() schema { return schema{kind: "iptables block", attrs: []string{"layout"}} }

func nodeSchema() schema {
	return schema{kind: "node", attrs: []string{"labels", "zone", "address", "routes"}, blocks: named(false, "link")}
}

func clientSchema() schema {
	return schema{kind: "client", attrs: []string{"address", "routes", "gateway"}, blocks: append(named(true, "port"), named(false, "link")...)}
}

func namespaceSchema() schema { return schema{kind: "namespace", attrs: []string{"labels"}} }

func podSchema() schema {
	return schema{
		kind: "pod",
		attrs: []string{"node", "namespace", "labels", "count", "for_each", "address", "host_network", "ready", "terminating",
			"command", "env"},
		plannedAttrs: []string{"host_port", "dns"},
		blocks:       append(named(true, "port"), named(false, "link")...),
	}
}

func portSchema() schema {
	return schema{kind: "port", attrs: []string{"port", "protocol"}, plannedAttrs: []string{"host_port"}}
}

func serviceSchema() schema {
	return schema{
		kind: "service",
		attrs: []string{"namespace", "type", "selector", "labels", "cluster_ip", "cluster_ips", "ip_families", "ip_family_policy",
			"external_ips", "load_balancer_ip", "load_balancer_source_ranges", "health_check_node_port", "external_name",
			"external_traffic_policy", "internal_traffic_policy", "session_affinity", "traffic_distribution", "publish_not_ready_addresses"},
		blocks: append(named(true, "port"), named(false, "selector", "load_balancer", "session_affinity", "endpoint")...),
	}
}

func loadBalancerSchema() schema {
	return schema{kind: "load_balancer block", attrs: []string{"via", "ip", "ips", "ip_mode"}}
}

func sessionAffinitySchema() schema {
	return schema{kind: "session_affinity block", attrs: []string{"timeout"}}
}

func endpointSchema() schema {
	return schema{
		kind:   "endpoint",
		attrs:  []string{"address", "pod", "node", "port", "port_name", "ready", "serving", "terminating", "weight"},
		blocks: named(false, "hints"),
	}
}

func hintsSchema() schema { return schema{kind: "hints block", attrs: []string{"zones", "nodes"}} }

func selectorSchema() schema {
	return schema{kind: "selector of a service", attrs: []string{"match_labels"}}
}

func servicePortSchema() schema {
	return schema{kind: "service port", attrs: []string{"port", "target_port", "node_port", "protocol"}, plannedAttrs: []string{"app_protocol"}}
}

func linkSchema() schema {
	return schema{kind: "link", attrs: []string{"delay", "jitter", "loss", "rate", "mtu"}}
}

func expectSchema() schema {
	return schema{
		kind: "expect",
		attrs: []string{"from", "to", "port", "protocol", "outcome", "answer", "source", "within", "retry", "count", "sticky", "mtu",
			"allow", "denied"},
		plannedAttrs: []string{"path", "not_through", "keep"},
		blocks:       named(false, "spread", "http", "latency", "throughput"),
	}
}

func boundSchema(kind string) schema {
	return schema{kind: kind + " block", attrs: []string{"min", "max", "at_least", "at_most", "than"}}
}

func httpSchema() schema {
	return schema{kind: "http block", attrs: []string{"path", "status", "header"}}
}

func spreadSchema() schema {
	return schema{kind: "spread block", attrs: []string{"tolerance", "weights"}}
}

// body is the schema in the terms of HCL, planned names included.
func (s schema) body() *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, list := range [][]string{s.attrs, s.plannedAttrs} {
		for _, a := range list {
			out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: a})
		}
	}
	for _, list := range [][]nested{s.blocks, s.plannedBlocks} {
		for _, b := range list {
			h := hcl.BlockHeaderSchema{Type: b.name}
			if b.labeled {
				h.LabelNames = []string{"name"}
			}
			out.Blocks = append(out.Blocks, h)
		}
	}
	return out
}

// names are the attributes and blocks that exist, for suggestions.
func (s schema) attrNames() []string {
	return append(append([]string{}, s.attrs...), s.plannedAttrs...)
}

func (s schema) blockNames() []string {
	var out []string
	for _, list := range [][]nested{s.blocks, s.plannedBlocks} {
		for _, b := range list {
			out = append(out, b.name)
		}
	}
	return out
}
