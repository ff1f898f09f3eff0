package language

import (
	"net/netip"

	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/dns"
)

// valueOf is what a reference that begins with var, a setting or a kind of object goes into.
func (l *loader) valueOf(kind string) cty.Value {
	switch kind {
	case "var":
		return cty.ObjectVal(l.variables)
	case "network":
		return networkValue(l.lab())
	case "proxy":
		return proxyValue(l.lab())
	case "policies":
		return policiesValue(l.lab())
	}
	return l.objects(kind)
}

func networkValue(lab *topology.Lab) cty.Value {
	n := lab.Network
	out := values{"mode": cty.StringVal(n.Mode.Name), "mtu": cty.NumberIntVal(int64(n.MTU))}
	addTexts(out, "pod_cidr", n.PodCIDRs)
	addTexts(out, "service_cidr", n.ServiceCIDRs)
	addTexts(out, "node_cidr", n.NodeCIDRs)
	addTexts(out, "load_balancer_cidr", n.LoadBalancerCIDRs)
	return cty.ObjectVal(out)
}

func proxyValue(lab *topology.Lab) cty.Value {
	return cty.ObjectVal(values{"mode": cty.StringVal(lab.Proxy.Name()), "layout": cty.StringVal(lab.Proxy.Layout)})
}

func policiesValue(lab *topology.Lab) cty.Value {
	return cty.ObjectVal(values{"style": cty.StringVal(lab.PolicyOptions.Name())})
}

// objects is all objects of a kind by the label of their block. What is declared but could
// not be resolved is unknown, so that only its cause is reported.
func (l *loader) objects(kind string) cty.Value {
	out := map[string]cty.Value{}
	for label := range l.Declared[kind] {
		out[label] = cty.DynamicVal
	}
	made := l.values(kind)
	for label, instances := range l.Made[kind] {
		if l.Poisoned[kind+"."+label] {
			continue
		}
		out[label] = instances.Value(func(key string) cty.Value {
			if v, ok := made[instance{label, key}]; ok {
				return v
			}
			return cty.DynamicVal
		})
	}
	if v, ok := made[instance{}]; ok && l.Made[kind][topology.DefaultNamespace] == nil {
		out[topology.DefaultNamespace] = v
	}
	return cty.ObjectVal(out)
}

// instance is one of the objects that a block made; the namespace default and the subnet
// default, which exist without a block, are the zero instance.
type instance struct{ label, key string }

// values are the objects of a kind.
func (l *loader) values(kind string) map[instance]cty.Value {
	out := map[instance]cty.Value{}
	lab := l.lab()
	at := func(w topology.Written) instance { return instance{w.Block, w.Key} }
	switch kind {
	case "subnet":
		for _, s := range lab.Subnets {
			if s.Name == topology.DefaultSubnet {
				out[instance{}] = subnetValue(s)
			} else {
				out[at(s.Written)] = subnetValue(s)
			}
		}
	case "router":
		for _, r := range lab.Routers {
			out[at(r.Written)] = routerValue(r)
		}
	case "node":
		for _, n := range lab.Nodes {
			out[at(n.Written)] = nodeValue(n)
		}
	case "client":
		for _, c := range lab.Clients {
			out[at(c.Written)] = clientValue(c)
		}
	case "namespace":
		for _, n := range lab.Namespaces {
			out[at(n.Written)] = cty.ObjectVal(values{"kind": cty.StringVal("namespace"), "name": cty.StringVal(n.Name), "labels": labelMap(n.Labels)})
		}
	case "pod":
		for _, p := range lab.Pods {
			out[instance{p.Block, p.Key}] = podValue(p)
		}
	case "service":
		for _, s := range lab.Services {
			out[at(s.Written)] = serviceValue(s, lab.Domain())
		}
	}
	return out
}

// values are the attributes of an object.
type values = map[string]cty.Value

func subnetValue(s *topology.Subnet) cty.Value {
	out := values{"kind": cty.StringVal("subnet"), "name": cty.StringVal(s.Name), "mtu": cty.NumberIntVal(int64(s.MTU))}
	addTexts(out, "cidr", s.CIDRs)
	return cty.ObjectVal(out)
}

func routerValue(r *topology.Router) cty.Value {
	links := values{}
	for _, l := range r.Links {
		link := values{"subnet": cty.StringVal(l.Subnet.Name)}
		addTexts(link, "ip", l.Addrs)
		links[l.Name] = cty.ObjectVal(link)
	}
	out := values{"kind": cty.StringVal("router"), "name": cty.StringVal(r.Name), "link": cty.ObjectVal(links)}
	addTexts(out, "ip", r.Addrs())
	return cty.ObjectVal(out)
}

func nodeValue(n *topology.Node) cty.Value {
	out := values{"kind": cty.StringVal("node"), "name": cty.StringVal(n.Name), "zone": cty.StringVal(n.Zone), "labels": labelMap(n.Labels)}
	addTexts(out, "ip", n.Addrs)
	addTexts(out, "pod_cidr", n.PodCIDRs)
	return cty.ObjectVal(out)
}

func clientValue(c *topology.Client) cty.Value {
	out := values{"kind": cty.StringVal("client"), "name": cty.StringVal(c.Name)}
	addTexts(out, "ip", c.Addrs)
	return cty.ObjectVal(out)
}

func podValue(p *topology.Pod) cty.Value {
	ports := values{}
	for _, port := range p.Ports {
		ports[port.Name] = cty.NumberIntVal(int64(port.Number))
	}
	out := values{
		"kind": cty.StringVal("pod"), "name": cty.StringVal(p.Name), "namespace": cty.StringVal(p.Namespace),
		"node": cty.StringVal(p.Node.Name), "labels": labelMap(p.Labels), "port": cty.ObjectVal(ports),
	}
	addTexts(out, "ip", p.Addrs)
	return cty.ObjectVal(out)
}

func serviceValue(s *topology.Service, domain string) cty.Value {
	nodePorts, ports := values{}, values{}
	for _, p := range s.Ports {
		if p.NodePort != 0 {
			nodePorts[p.Name] = cty.NumberIntVal(int64(p.NodePort))
		}
		ports[p.Name] = cty.NumberIntVal(int64(p.Port))
	}
	var balancers []netip.Addr
	for _, b := range s.LoadBalancers {
		balancers = append(balancers, b.Addr)
	}
	out := values{
		"type": cty.StringVal(string(s.Type)), "labels": labelMap(s.Labels), "external_name": cty.StringVal(s.ExternalName),
		"external_ips": textList(s.ExternalIPs), "health_check_node_port": cty.NumberIntVal(int64(s.HealthCheckNodePort)),

		"kind": cty.StringVal("service"), "name": cty.StringVal(s.Name), "namespace": cty.StringVal(s.Namespace),
		"fqdn": cty.StringVal(dns.FQDN(s.Name, s.Namespace, domain)),
		"port": cty.ObjectVal(ports), "node_port": cty.ObjectVal(nodePorts),
	}
	addTexts(out, "load_balancer_ip", balancers)
	addTexts(out, "cluster_ip", s.ClusterIPs)
	if len(balancers) == 0 {
		out["load_balancer_ip"] = cty.StringVal("")
	}
	if len(s.ClusterIPs) == 0 {
		out["cluster_ip"] = cty.StringVal("None")
	}
	return cty.ObjectVal(out)
}

// addTexts adds the first of some addresses or prefixes, unknown if there is none, and all of
// them under the plural of the name.
func addTexts[T interface{ String() string }](out values, name string, list []T) {
	out[name], out[name+"s"] = cty.UnknownVal(cty.String), textList(list)
	if len(list) > 0 {
		out[name] = cty.StringVal(list[0].String())
	}
}

// textList is a list of addresses or prefixes, as text.
func textList[T interface{ String() string }](list []T) cty.Value {
	if len(list) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	var out []cty.Value
	for _, t := range list {
		out = append(out, cty.StringVal(t.String()))
	}
	return cty.ListVal(out)
}

func labelMap(labels map[string]string) cty.Value {
	if len(labels) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	out := map[string]cty.Value{}
	for k, v := range labels {
		out[k] = cty.StringVal(v)
	}
	return cty.MapVal(out)
}
