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
	"github.com/netlab/netlab/topology/resolve/draft"
)

// metadataName is the label that Kubernetes puts on every namespace.
const metadataName = "kubernetes.io/metadata.name"

func (r *resolver) resolveNamespaces() {
	seen := map[string]topology.Origin{}
	for _, s := range r.Spec.Namespaces {
		r.Of("namespace", s.Written.Block, s.Written.Key)
		named := cmp.Or(s.Written.Named, s.Origin)
		r.CheckName("namespace", s.Name, named)
		if r.Unique(seen, "namespace", s.Name, named) {
			r.addNamespace(s)
		}
	}
	if r.Namespaces[topology.DefaultNamespace] == nil {
		r.addNamespace(topology.NamespaceSpec{Name: topology.DefaultNamespace})
	}
}

func (r *resolver) addNamespace(s topology.NamespaceSpec) {
	ns := &topology.Namespace{Name: s.Name, Written: s.Written, Labels: draft.Labels(s.Labels), Origin: s.Origin}
	ns.Labels[metadataName] = s.Name
	r.Namespaces[s.Name] = ns
	r.Lab.Namespaces = append(r.Lab.Namespaces, ns)
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
	for i, s := range r.Spec.Pods {
		if _, ok := blocks[s.Block]; !ok {
			blocks[s.Block] = len(blocks)
		}
		r.Of("pod", s.Block, s.Key)
		named := cmp.Or(s.Named.Origin, s.Origin)
		p := &topology.Pod{
			Name: s.Name(), Block: s.Block, Key: s.Key, Namespace: r.Namespace(s.Namespace),
			Labels: draft.Labels(s.Labels), HostNetwork: s.HostNetwork.Value,
			Serving: s.Ready.Or(true), Terminating: s.Terminating.Value,
			Command: slices.Clone(s.Command), Env: maps.Clone(s.Env), Origin: s.Origin,
		}
		p.Ready = p.Serving && !p.Terminating
		r.CheckName("pod", p.Name, named)
		if !r.Unique(seen, "pod", p.AgentName(), named) {
			continue
		}
		r.podDNS(p, s)
		p.Workload = r.workload(s)
		p.Ports = r.ports(fmt.Sprintf("pod %q", p.AgentName()), s.Ports, s.Origin)
		p.Program = r.program(p, s)
		if p.Node = r.podNode(s, blocks[s.Block]); p.Node == nil {
			continue
		}
		p.Node.Pods = append(p.Node.Pods, p)
		r.Lab.Pods = append(r.Lab.Pods, p)
		pods = append(pods, resolvedPod{p, s, i})
	}
	r.Of("pod", "", "")
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

// workload is the workload that a pod is one of.
func (r *resolver) workload(s topology.PodSpec) topology.Workload {
	w, kind := s.WorkloadOf(), s.Workload
	kind.Value = w.Kind
	if w.Kind = r.Enum(kind, "workload", "", topology.Workloads, nil); w.Kind == "" {
		return topology.Workload{}
	}
	r.CheckName("workload", w.Name, s.Workload.Origin)
	return w
}

// podNode is the node that a pod names, else the next one in turn. The turn
// depends on the block's place and the instance's index alone, so that one more
// instance moves no other pod.
func (r *resolver) podNode(s topology.PodSpec, block int) *topology.Node {
	if s.Node.Set {
		if n := r.Node(s.Node.Value, s.Node.Origin, s.Origin); n != nil {
			return n
		}
	}
	if len(r.Declared) == 0 {
		if !s.Node.Set {
			r.Errorf(draft.At(s.Origin), "No node for pod", "Pod %q has no node to run on. Declare one with node \"node1\" {}.", s.Name())
		}
		return nil
	}
	return r.Declared[(block+max(0, s.Index))%len(r.Declared)]
}

func (r *resolver) podAddresses(pods []resolvedPod) {
	given := map[*topology.Pod]bool{}
	for _, p := range pods {
		o := p.spec.Address
		if !o.Set {
			continue
		}
		given[p.Pod] = true
		r.Of("pod", p.Block, p.Key)
		if p.HostNetwork {
			r.Errorf(draft.At(o.Origin), "Address with host network",
				"Pod %q uses its node's network, so it has the node's addresses. Remove address or host_network.", p.AgentName())
			continue
		}
		r.AddressFamily(o, p.Node.PodCIDRs, "the pod CIDR of its node")
		for _, pool := range r.podPools[p.Node] {
			if draft.SameFamily(o.Value, pool.Prefix) {
				r.Claim(pool, fmt.Sprintf("the pod CIDR of node %q,", p.Node.Name), o, fmt.Sprintf("pod %q", p.AgentName()))
			}
		}
	}
	r.Of("pod", "", "")
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
	for _, n := range r.Declared {
		for _, pool := range r.podPools[n] {
			if left := without[pool.Pool]; len(left) > 0 {
				more := ""
				if len(left) > 1 {
					more = fmt.Sprintf(" and %d more", len(left)-1)
				}
				larger := "shorter node_prefix"
				if r.Lab.Network.Mode.SharedCIDR {
					larger = "larger pod_cidr"
				}
				r.Errorf(draft.At(left[0].Origin), "No pod address left",
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
		if given && draft.SameFamily(p.spec.Address.Value, pool.Prefix) {
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
	if !r.Lab.Network.Mode.SharedCIDR {
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
			p.HostLink = podLink(r.Lab.Network.Mode.PodLinks, p.Pod, attempt)
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
			r.CheckName("port", s.Name, s.Origin)
			if !r.Unique(names, "port", s.Name, s.Origin) {
				continue
			}
		}
		protocol := r.Protocol(s.Protocol)
		if n := r.Port(s.Port, "port "+strconv.Quote(s.Name)+" of "+who, draft.At(s.Origin, origin)); n != 0 {
			p := topology.Port{Name: s.Name, Number: n, Protocol: protocol, Origin: s.Origin}
			if o := s.HostPort; o.Set || o.Origin != (topology.Origin{}) {
				p.HostPort = r.Port(o, "host port of "+who, draft.At(o.Origin, s.Origin))
			}
			out = append(out, p)
		}
	}
	return out
}
