package kubernetes

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

const (
	hostnameLabel = "kubernetes.io/hostname"
	zoneLabel     = "topology.kubernetes.io/zone"
)

// nodes adds those of the manifests. Where there is none, those that pods name, else so many.
func (c *converter) nodes(beside *topology.Spec, count int) {
	for _, n := range c.hosts {
		name := dashed(n.Meta.Name.Value)
		c.carried(&n.header, "node."+name)
		s := topology.NodeSpec{Name: name, Written: topology.Written{Block: name}, Labels: labelsBut(n.Meta.Labels, zoneLabel, hostnameLabel), Origin: n.at()}
		if zone, ok := n.Meta.Labels[zoneLabel]; ok {
			s.Zone = str{Value: zone, Set: true, Origin: n.at()}
		}
		s.Subnet, s.Address = nodeAddress(n, beside)
		c.Nodes = append(c.Nodes, s)
		c.taints[name] = n.taints()
	}
	if len(c.Nodes)+len(beside.Nodes) == 0 {
		named := map[string]topology.Origin{}
		for _, p := range c.pods {
			if o := p.Spec.NodeName; o.Set {
				named[dashed(o.Value)] = o.Origin
			}
		}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			c.Nodes = append(c.Nodes, topology.NodeSpec{Name: name, Written: topology.Written{Block: name}, Origin: named[name]})
		}
	}
	if len(c.Nodes)+len(beside.Nodes) == 0 {
		for i := range count {
			name := fmt.Sprintf("node%d", i+1)
			c.Nodes = append(c.Nodes, topology.NodeSpec{Name: name, Written: topology.Written{Block: name}})
		}
	}
	c.homes = slices.Concat(beside.Nodes, c.Nodes)
}

// nodeAddress is the first address of a node inside the cluster that the underlay has, and the
// subnet that it is in, if that is not the default one.
func nodeAddress(n *nodeObject, beside *topology.Spec) (subnet str, out topology.Opt[netip.Addr]) {
	for _, a := range n.Status.Addresses {
		addr, err := netip.ParseAddr(a.Address.Value)
		if a.Type.Value != "InternalIP" || err != nil {
			continue
		}
		has := func(p netip.Prefix) bool { return p.Contains(addr) }
		out = topology.Opt[netip.Addr]{Value: addr, Set: true, Origin: a.Address.Origin}
		if slices.ContainsFunc(beside.Network.NodeCIDRs.Value, has) {
			return subnet, out
		}
		for _, s := range beside.Subnets {
			if slices.ContainsFunc(s.CIDRs.Value, has) {
				return str{Value: s.Name, Set: true, Origin: a.Address.Origin}, out
			}
		}
	}
	return str{}, topology.Opt[netip.Addr]{}
}

// choose are the nodes that the node selector and the tolerations of a pod allow, perhaps one of
// a DaemonSet. Every node counts as Linux, with its own name.
func (c *converter) choose(p *podSpec, daemon bool) (out []topology.NodeSpec) {
	for _, n := range c.homes {
		labels := map[string]string{hostnameLabel: n.Name, "kubernetes.io/os": "linux"}
		maps.Copy(labels, n.Labels)
		if n.Zone.Set {
			labels[zoneLabel] = n.Zone.Value
		}
		fits := p.tolerates(c.taints[n.Name], daemon)
		for k, v := range p.NodeSelector {
			have, ok := labels[k]
			if k == hostnameLabel {
				v = dashed(v)
			}
			fits = fits && ok && have == v
		}
		if fits {
			out = append(out, n)
		}
	}
	return out
}

// Network is what the addresses in the objects say of the network: prefixes that have them all.
func (o *Objects) Network() topology.NetworkSpec {
	var nodes, services, pods, other addresses
	for _, x := range o.list {
		switch x := x.(type) {
		case *nodeObject:
			for _, a := range x.Status.Addresses {
				if a.Type.Value == "InternalIP" {
					nodes.add(a.Address)
				}
			}
			for _, p := range x.Spec.PodCIDRs {
				if prefix, err := netip.ParsePrefix(p.Value); err == nil {
					pods.add(str{Value: prefix.Addr().String(), Origin: p.Origin})
				}
			}
		case *serviceObject:
			services.add(x.Spec.ClusterIP)
			for _, a := range x.Spec.ClusterIPs {
				services.add(a)
			}
			for _, f := range x.Spec.IPFamilies {
				other.add(str{Value: map[string]string{"IPv4": "0.0.0.0", "IPv6": "::"}[f.Value], Origin: f.Origin})
			}
			if f := x.Spec.IPFamilyPolicy; f.Value == "RequireDualStack" {
				other.add(str{Value: "0.0.0.0", Origin: f.Origin})
				other.add(str{Value: "::", Origin: f.Origin})
			}
		}
	}
	var out topology.NetworkSpec
	var families []bool
	for _, six := range []bool{false, true} {
		if nodes.has(six) || services.has(six) || pods.has(six) || other.has(six) {
			families = append(families, six)
		}
	}
	plain := len(families) == 0 || len(families) == 1 && !families[0]
	set := func(to *topology.Opt[[]netip.Prefix], from addresses, usual [2]string, longest, shortest [2]int) {
		if plain && len(from) == 0 {
			return
		}
		for _, six := range families {
			i := map[bool]int{true: 1}[six]
			prefix, ok := from.cover(six, longest[i], shortest[i])
			if !ok {
				prefix = netip.MustParsePrefix(usual[i])
			}
			to.Value = append(to.Value, prefix)
		}
		to.Set = len(to.Value) > 0
		for _, a := range from {
			to.Origin = a.origin
			break
		}
	}
	set(&out.PodCIDRs, nil, [2]string{"10.244.0.0/16", "fd00:10:244::/56"}, [2]int{16, 56}, [2]int{8, 48})
	set(&out.ServiceCIDRs, services, [2]string{"10.96.0.0/16", "fd00:10:96::/112"}, [2]int{16, 112}, [2]int{8, 64})
	set(&out.NodeCIDRs, nodes, [2]string{"192.168.0.0/24", "fd00:192:168::/64"}, [2]int{24, 64}, [2]int{16, 48})
	return out
}

// addresses are those that a prefix has to have.
type addresses []address

type address struct {
	netip.Addr
	origin topology.Origin
}

func (l *addresses) add(text str) {
	if a, err := netip.ParseAddr(text.Value); err == nil && a.Zone() == "" {
		*l = append(*l, address{a.Unmap(), text.Origin})
	}
}

func (l addresses) has(six bool) bool {
	return slices.ContainsFunc(l, func(a address) bool { return a.Is6() == six })
}

// cover is the longest prefix with all addresses of a family, between two lengths.
func (l addresses) cover(six bool, longest, shortest int) (netip.Prefix, bool) {
	var out netip.Prefix
	for _, a := range l {
		if a.Is6() != six {
			continue
		}
		if !out.IsValid() {
			out, _ = a.Prefix(longest)
		}
		for !out.Contains(a.Addr) {
			if out.Bits() <= shortest {
				return out, false
			}
			out, _ = out.Addr().Prefix(out.Bits() - 1)
		}
	}
	return out, out.IsValid()
}

// taint keeps pods from a node that do not tolerate it (core/v1.Taint).
type taint struct {
	Key    str      `k:"key"`
	Value  str      `k:"value"`
	Effect str      `k:"effect"`
	_      struct{} `k:"timeAdded"`
}

// toleration lets a pod on nodes with a taint (core/v1.Toleration).
type toleration struct {
	Key      str      `k:"key"`
	Operator str      `k:"operator"`
	Value    str      `k:"value"`
	Effect   str      `k:"effect"`
	_        struct{} `k:"tolerationSeconds"`
}

const (
	nodeTaints    = "node.kubernetes.io/"
	unschedulable = nodeTaints + "unschedulable"
)

// taints are those of a node that keep pods away, with the one that cordoning it adds.
func (n *nodeObject) taints() (out []taint) {
	for _, t := range n.Spec.Taints {
		if t.Effect.Value == "NoSchedule" || t.Effect.Value == "NoExecute" {
			out = append(out, t)
		}
	}
	if n.Spec.Unschedulable.Value {
		out = append(out, taint{Key: str{Value: unschedulable}, Effect: str{Value: "NoSchedule"}})
	}
	return out
}

// tolerates reports a pod that may run on a node with these taints (ToleratesTaint in
// k8s.io/component-helpers). That of a DaemonSet may run on all nodes that are not well
// (pkg/controller/daemon/util, AddOrUpdateDaemonPodTolerations).
func (p *podSpec) tolerates(taints []taint, daemon bool) bool {
	return !slices.ContainsFunc(taints, func(t taint) bool {
		if daemon && strings.HasPrefix(t.Key.Value, nodeTaints) {
			return false
		}
		return !slices.ContainsFunc(p.Tolerations, func(x toleration) bool {
			all := x.Operator.Value == "Exists"
			return (x.Effect.Value == "" || x.Effect.Value == t.Effect.Value) && (x.Key.Value == t.Key.Value || x.Key.Value == "" && all) && (all || x.Value.Value == t.Value.Value)
		})
	})
}
