package resolve

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/ipam"
)

// metadataName is the label that Kubernetes puts on every namespace.
const metadataName = "kubernetes.io/metadata.name"

func (r *resolver) resolveNamespaces() {
	seen := map[string]topology.Origin{}
	for _, s := range r.spec.Namespaces {
		r.of("namespace", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		r.checkName("namespace", s.Name, named)
		if r.unique(seen, "namespace", s.Name, named) {
			r.addNamespace(s)
		}
	}
	if r.namespaces[topology.DefaultNamespace] == nil {
		r.addNamespace(topology.NamespaceSpec{Name: topology.DefaultNamespace})
	}
}

func (r *resolver) addNamespace(s topology.NamespaceSpec) {
	ns := &topology.Namespace{Name: s.Name, Written: s.Written, Labels: labels(s.Labels), Origin: s.Origin}
	ns.Labels[metadataName] = s.Name
	r.namespaces[s.Name] = ns
	r.lab.Namespaces = append(r.lab.Namespaces, ns)
}

// namespace is the namespace that an object names, or default.
func (r *resolver) namespace(o topology.Opt[string]) string {
	name := o.Or(topology.DefaultNamespace)
	if r.namespaces[name] != nil {
		return name
	}
	r.undeclared("namespace", name, maps.Keys(r.namespaces), at(o.Origin))
	return topology.DefaultNamespace
}

// resolvedPod is a pod with its spec.
type resolvedPod struct {
	*topology.Pod
	spec topology.PodSpec
	turn int // in the order of the scenario
}

func (r *resolver) resolvePods() {
	var pods []resolvedPod
	seen := map[string]topology.Origin{}
	blocks := map[string]int{}
	for i, s := range r.spec.Pods {
		if _, ok := blocks[s.Block]; !ok {
			blocks[s.Block] = len(blocks)
		}
		r.of("pod", s.Block, s.Key)
		named := cmp.Or(s.Named.Origin, s.Origin)
		p := &topology.Pod{
			Name: s.Name(), Block: s.Block, Key: s.Key, Namespace: r.namespace(s.Namespace),
			Labels: labels(s.Labels), HostNetwork: s.HostNetwork.Value,
			Serving: s.Ready.Or(true), Terminating: s.Terminating.Value,
			Command: slices.Clone(s.Command), Env: maps.Clone(s.Env), Origin: s.Origin,
		}
		p.Ready = p.Serving && !p.Terminating
		r.checkName("pod", p.Name, named)
		if !r.unique(seen, "pod", p.AgentName(), named) {
			continue
		}
		r.podDNS(p, s)
		p.Ports = r.ports(fmt.Sprintf("pod %q", p.AgentName()), s.Ports, s.Origin)
		p.Program = r.program(p, s)
		if p.Node = r.podNode(s, blocks[s.Block]); p.Node == nil {
			continue
		}
		p.Node.Pods = append(p.Node.Pods, p)
		r.lab.Pods = append(r.lab.Pods, p)
		pods = append(pods, resolvedPod{p, s, i})
	}
	r.of("pod", "", "")
	// Among siblings the later instances give way, so that a higher count moves
	// no other.
	slices.SortStableFunc(pods, func(a, b resolvedPod) int {
		return cmp.Or(cmp.Compare(a.spec.Index, b.spec.Index), cmp.Compare(a.turn, b.turn))
	})
	r.podAddresses(pods)
	r.podLinks(pods)
	r.links(pods)
	r.podListeners()
}

// podNode is the node that a pod names, else the next one in turn. The turn
// depends on the block's place and the instance's index alone, so that one more
// instance moves no other pod.
func (r *resolver) podNode(s topology.PodSpec, block int) *topology.Node {
	if s.Node.Set {
		if n := r.node(s.Node.Value, s.Node.Origin, s.Origin); n != nil {
			return n
		}
	}
	if len(r.declared) == 0 {
		if !s.Node.Set {
			r.errorf(at(s.Origin), "No node for pod", "Pod %q has no node to run on. Declare one with node \"node1\" {}.", s.Name())
		}
		return nil
	}
	return r.declared[(block+max(0, s.Index))%len(r.declared)]
}

func (r *resolver) podAddresses(pods []resolvedPod) {
	given := map[*topology.Pod]bool{}
	for _, p := range pods {
		o := p.spec.Address
		if !o.Set {
			continue
		}
		given[p.Pod] = true
		r.of("pod", p.Block, p.Key)
		if p.HostNetwork {
			r.errorf(at(o.Origin), "Address with host network",
				"Pod %q uses its node's network, so it has the node's addresses. Remove address or host_network.", p.AgentName())
			continue
		}
		r.addressFamily(o, p.Node.PodCIDRs, "the pod CIDR of its node")
		for _, pool := range r.podPools[p.Node] {
			if sameFamily(o.Value, pool.Prefix) {
				r.claim(pool, fmt.Sprintf("the pod CIDR of node %q,", p.Node.Name), o, fmt.Sprintf("pod %q", p.AgentName()))
			}
		}
	}
	r.of("pod", "", "")
	without := map[*ipam.Pool][]*topology.Pod{}
	for _, p := range pods {
		if p.HostNetwork {
			p.Addrs = slices.Clone(p.Node.Addrs)
			continue
		}
		p.Addrs = r.podAddrs(p, given[p.Pod], without)
		if len(p.Addrs) > 0 {
			p.MAC = ipam.MACFor(ipam.Ether, p.Addrs[0])
		}
	}
	for _, n := range r.declared {
		for _, pool := range r.podPools[n] {
			if left := without[pool.Pool]; len(left) > 0 {
				more := ""
				if len(left) > 1 {
					more = fmt.Sprintf(" and %d more", len(left)-1)
				}
				larger := "shorter node_prefix"
				if r.lab.Network.Mode.SharedCIDR {
					larger = "larger pod_cidr"
				}
				r.errorf(at(left[0].Origin), "No pod address left",
					"The pod CIDR %s of node %q has no address left for pod %q%s. Use a %s, or more nodes.",
					pool.Prefix, n.Name, left[0].AgentName(), more, larger)
			}
		}
	}
}

// podAddrs is one address per family for a pod. A pod that finds none is recorded
// under the pool.
func (r *resolver) podAddrs(p resolvedPod, given bool, without map[*ipam.Pool][]*topology.Pod) []netip.Addr {
	var out []netip.Addr
	for _, pool := range r.podPools[p.Node] {
		if given && sameFamily(p.spec.Address.Value, pool.Prefix) {
			out = append(out, p.spec.Address.Value)
			continue
		}
		a, ok := r.podAddr(p.Pod, pool)
		if !ok {
			without[pool.Pool] = append(without[pool.Pool], p.Pod)
			continue
		}
		out = append(out, a)
	}
	return out
}

// podAddr is a free address for a pod: one that follows from its name, so that no other pod
// moves it, or where every node numbers its own pods, the next.
func (r *resolver) podAddr(p *topology.Pod, pool ipam.AddrPool) (netip.Addr, bool) {
	owner := fmt.Sprintf("pod %q", p.AgentName())
	if !r.lab.Network.Mode.SharedCIDR {
		return pool.Assign("pod/"+p.Namespace+"/"+p.Name, pool.All(), owner)
	}
	slot, ok := pool.Next(owner)
	return pool.At(slot), ok
}

// podLinks names the node's end of each pod's veth, with at most the 15 bytes that the
// kernel allows.
func (r *resolver) podLinks(pods []resolvedPod) {
	taken := map[string]bool{}
	for _, p := range pods {
		if p.HostNetwork {
			continue
		}
		for attempt := 0; p.HostLink == "" || taken[p.HostLink]; attempt++ {
			p.HostLink = podLink(r.lab.Network.Mode.PodLinks, p.Pod, attempt)
		}
		taken[p.HostLink] = true
	}
}

// podLink is the name of a link: veth and a hash, or a beginning and as much of a hash as
// fits, that which Calico takes (VethNameForWorkload in libcalico-go).
func podLink(begin string, p *topology.Pod, attempt int) string {
	if begin == "" {
		return fmt.Sprintf("veth%08x", uint32(ipam.Hash("link/"+p.Namespace+"/"+p.Name, attempt)))
	}
	name := p.Namespace + "." + p.Name
	if attempt > 0 {
		name += "." + strconv.Itoa(attempt)
	}
	const longest = 15
	return (begin + fmt.Sprintf("%x", sha1.Sum([]byte(name))))[:longest]
}

// ports resolves the ports of a pod or client.
func (r *resolver) ports(who string, specs []topology.PortSpec, origin topology.Origin) []topology.Port {
	var out []topology.Port
	names := map[string]topology.Origin{}
	for _, s := range specs {
		if s.Name != "" {
			r.checkName("port", s.Name, s.Origin)
			if !r.unique(names, "port", s.Name, s.Origin) {
				continue
			}
		}
		protocol := r.protocol(s.Protocol)
		if n := r.port(s.Port, "port "+strconv.Quote(s.Name)+" of "+who, at(s.Origin, origin)); n != 0 {
			p := topology.Port{Name: s.Name, Number: n, Protocol: protocol, Origin: s.Origin}
			if o := s.HostPort; o.Set || o.Origin != (topology.Origin{}) {
				p.HostPort = r.port(o, "host port of "+who, at(o.Origin, s.Origin))
			}
			out = append(out, p)
		}
	}
	return out
}

// port checks a port number; 0 means that there is none to use.
func (r *resolver) port(o topology.Opt[int], what string, block []topology.Origin) uint16 {
	switch {
	case !o.Set && o.Origin != (topology.Origin{}): // reported by the reader
	case !o.Set:
		r.errorf(block, "Missing port number", "The %s has no number. Add port = 8080.", what)
	case o.Value < 1 || o.Value > 65535:
		r.errorf(append(at(o.Origin), block...), "Port out of range", "The %s is %d. Use a number from 1 to 65535.", what, o.Value)
	default:
		return uint16(o.Value)
	}
	return 0
}
