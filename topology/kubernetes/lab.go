package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netlab/netlab/topology"
)

// Lab is what objects are in the terms of labs. Every element has the place in the manifests
// that it comes from.
type Lab struct {
	topology.Spec
	Problems topology.Problems
	Lost     []Lost // in the order of the manifests
	Notes    []Lost // what a reader may wonder about, of blocks
}

// Lab makes a lab of the objects, beside what a scenario declares itself. Where there is no node
// at all, and none is named, the lab has so many.
func (o *Objects) Lab(beside *topology.Spec, nodes int) *Lab {
	c := &converter{Lab: &Lab{Lost: slices.Clone(o.lost)}, labels: map[string]map[string]bool{}, taints: map[string][]taint{}, named: beside.DNS.Written}
	c.sort(o)
	c.nameService()
	c.configs()
	c.nodes(beside, nodes)
	c.workloads()
	c.services()
	c.listeners()
	c.policies()
	c.ingresses()
	c.gateways()
	c.grants()
	c.routes()
	c.namespaces(beside)
	slices.SortStableFunc(c.Lost, func(a, b Lost) int {
		return cmp.Or(cmp.Compare(a.Origin.File, b.Origin.File), cmp.Compare(a.Origin.Line, b.Origin.Line))
	})
	return c.Lab
}

// converter sorts objects by kind, and makes a lab of them.
type converter struct {
	*Lab
	all   []*header
	names []*plainObject
	hosts []*nodeObject
	pods  []*podObject
	made  []*workload // by controllers that have no pods of their own in the manifests
	cfg   []*configMap
	svc   []*serviceObject
	ends  []*endpointsObject
	slice []*endpointSlice
	np    []*networkPolicy
	cnp   []*clusterPolicy
	ing   []*ingressObject
	gws   []*gatewayObject
	rgs   []*referenceGrant
	rts   []*httpRoute

	named  bool                       // the scenario has a dns block
	labels map[string]map[string]bool // those taken, by kind of block
	homes  []topology.NodeSpec        // where pods can be
	taints map[string][]taint         // of nodes
	groups []group
	had    map[netip.Addr]string // the pods that had an address in the cluster
}

func (c *converter) errorf(o topology.Origin, summary, format string, args ...any) {
	c.Problems = append(c.Problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: o})
}

func (c *converter) lose(block string, o topology.Origin, format string, args ...any) {
	c.Lost = append(c.Lost, Lost{Block: block, Why: fmt.Sprintf(format, args...), Origin: o})
}

// absent notes an object that is not in the lab because it has no pod in the cluster either.
func (c *converter) absent(o topology.Origin, format string, args ...any) {
	c.Lost = append(c.Lost, Lost{Why: fmt.Sprintf(format, args...), Origin: o, Absent: true})
}

// sort sorts the objects by kind. The same object twice is an error, as it is for kubectl where
// the second would replace the first.
func (c *converter) sort(o *Objects) {
	seen := map[string]topology.Origin{}
	for _, x := range o.list {
		h := x.top()
		key := func() string { return h.Kind.Value + "/" + h.namespace() + "/" + h.Meta.Name.Value }
		if of := h.Meta.GenerateName; !h.Meta.Name.Set { // the server makes a name of it
			h.Meta.Name, h.Meta.GenerateName = of, str{}
			h.Meta.Name.Value = strings.TrimRight(of.Value, "-")
			for i, base := 2, h.Meta.Name.Value; seen[key()] != (topology.Origin{}); i++ {
				h.Meta.Name.Value = fmt.Sprintf("%s-%d", base, i)
			}
		}
		if at, ok := seen[key()]; ok {
			c.errorf(h.at(), "Object written twice", "The %s %q is there %s, too. Remove one of them.", h.Kind.Value, h.Meta.Name.Value, at.SeenFrom(h.at()))
			continue
		}
		seen[key()] = h.at()
		if m, is := x.(*configMap); is { // no object of the lab, but files of pods
			c.cfg = append(c.cfg, m)
			continue
		}
		h.order = len(c.all)
		c.all = append(c.all, h)
		switch x := x.(type) {
		case *plainObject:
			c.names = append(c.names, x)
		case *nodeObject:
			c.hosts = append(c.hosts, x)
		case *podObject:
			c.pods = append(c.pods, x)
		case *serviceObject:
			c.svc = append(c.svc, x)
		case *endpointsObject:
			c.ends = append(c.ends, x)
		case *endpointSlice:
			c.slice = append(c.slice, x)
		case *networkPolicy:
			c.np = append(c.np, x)
		case *clusterPolicy:
			c.cnp = append(c.cnp, x)
		case *ingressObject:
			c.ing = append(c.ing, x)
		case *gatewayObject:
			c.gws = append(c.gws, x)
		case *referenceGrant:
			c.rgs = append(c.rgs, x)
		case *httpRoute:
			c.rts = append(c.rts, x)
		default:
			c.made = append(c.made, workloadOf(x))
		}
	}
}

// nameService leaves out the name service of a cluster where the scenario has a dns block, which
// makes one: its service, and the pods behind it.
func (c *converter) nameService() {
	var service *serviceObject
	is := func(x *serviceObject) bool {
		return x.namespace() == topology.SystemNamespace && x.Meta.Name.Value == topology.DNSService
	}
	if i := slices.IndexFunc(c.svc, is); c.named && i >= 0 {
		service = c.svc[i]
	}
	if service == nil {
		return
	}
	behind := func(h *header, labels map[string]string) bool {
		return h.namespace() == topology.SystemNamespace && len(service.Spec.Selector) > 0 && selects(service.Spec.Selector, labels)
	}
	c.svc = slices.DeleteFunc(c.svc, is)
	c.pods = slices.DeleteFunc(c.pods, func(p *podObject) bool { return behind(&p.header, p.Meta.Labels) })
	c.made = slices.DeleteFunc(c.made, func(w *workload) bool { return behind(w.header, w.Template.Meta.Labels) })
	c.slice = slices.DeleteFunc(c.slice, func(e *endpointSlice) bool {
		return e.namespace() == topology.SystemNamespace && e.Meta.Labels[serviceLabel] == topology.DNSService
	})
	c.ends = slices.DeleteFunc(c.ends, func(e *endpointsObject) bool {
		return e.namespace() == topology.SystemNamespace && e.Meta.Name.Value == topology.DNSService
	})
}

// namespace is the namespace of an object.
func (h *header) namespace() string { return h.Meta.Namespace.Or(topology.DefaultNamespace) }

// at is where an object is written: its name.
func (h *header) at() topology.Origin { return cmp.Or(h.Meta.Name.Origin, h.Origin) }

// label is the label of the block of an object: its name, behind its namespace where several
// objects of the kind have the name, and after it a number where that is taken as well.
func (c *converter) label(kind, namespace, name string, several bool) string {
	if several && namespace != topology.DefaultNamespace {
		name = namespace + "-" + name
	}
	if c.labels[kind] == nil {
		c.labels[kind] = map[string]bool{}
	}
	label := name
	for i := 2; c.labels[kind][label]; i++ {
		label = fmt.Sprintf("%s-%d", name, i)
	}
	c.labels[kind][label] = true
	return label
}

// several says which names several objects have.
func several[T any](list []T, name func(T) string) map[string]bool {
	count, out := map[string]int{}, map[string]bool{}
	for _, x := range list {
		count[name(x)]++
		out[name(x)] = count[name(x)] > 1
	}
	return out
}

// written is what a block says of the name of its object.
func written(label string, h *header) topology.Written {
	w := topology.Written{Block: label}
	if label != h.Meta.Name.Value {
		w.Named = h.at()
	}
	return w
}

// carried notes what else is not carried over of an object that has a block.
func (c *converter) carried(h *header, block string) {
	for _, l := range h.lost {
		l.Block = block
		c.Lost = append(c.Lost, l)
	}
	for _, key := range slices.Sorted(maps.Keys(h.Meta.Annotations)) {
		domain, _, _ := strings.Cut(key, "/")
		switch {
		case key == "service.kubernetes.io/topology-mode" || key == "service.kubernetes.io/topology-aware-hints":
			c.lose(block, h.Meta.Annotations[key].Origin, "annotation %s: a lab has no hints by load. Write spec.trafficDistribution", key)
		case slices.ContainsFunc(controllerAnnotations, func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }):
			c.lose(block, h.Meta.Annotations[key].Origin, "annotation %s: what it does is a matter of one controller", lineOf(key))
		}
	}
}

// controllerAnnotations are the domains, and what is below them, of annotations by which
// controllers do with connections what the API has no fields for.
var controllerAnnotations = []string{
	"ingress.kubernetes.io", "ingress.kubernetes.azure.com", "service.beta.kubernetes.io", "nginx.org", "haproxy.org", "haproxy-ingress.github.io", "konghq.com",
	"projectcontour.io", "metallb.io", "metallb.universe.tf", "lbipam.cilium.io", "networking.gke.io",
}

// classAnnotation is the class of an Ingress, as before spec.ingressClassName.
const classAnnotation = "kubernetes.io/ingress.class"

// dashed is a name with dots as a DNS label, which is what nodes and pods are named by here.
func dashed(name string) string { return strings.ReplaceAll(name, ".", "-") }

// namespaces adds those that are written, and those that objects are in.
func (c *converter) namespaces(beside *topology.Spec) {
	have := map[string]bool{topology.DefaultNamespace: true}
	for _, s := range beside.Namespaces {
		have[s.Name] = true
	}
	for _, n := range c.names {
		name := n.Meta.Name.Value
		labels := labelsBut(n.Meta.Labels, "kubernetes.io/metadata.name")
		if have[name] && name == topology.DefaultNamespace && len(labels) == 0 {
			continue
		}
		have[name] = true
		c.carried(&n.header, "namespace."+name)
		c.Namespaces = append(c.Namespaces, topology.NamespaceSpec{Name: name, Written: topology.Written{Block: name}, Labels: labels, Origin: n.at()})
	}
	for _, h := range c.all {
		name := h.Meta.Namespace
		if name.Set && !have[name.Value] && !kinds[h.Kind.Value].cluster {
			have[name.Value] = true
			c.Namespaces = append(c.Namespaces, topology.NamespaceSpec{Name: name.Value, Written: topology.Written{Block: name.Value}, Origin: name.Origin})
		}
	}
}

// labelsBut are labels without those that follow from something else; nil if none is left.
func labelsBut(labels map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for k, v := range labels {
		if !slices.Contains(keys, k) {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

// strs are the values of a list.
func strs(list []str) (out []string) {
	for _, s := range list {
		out = append(out, s.Value)
	}
	return out
}

// listed is a list as an attribute; not set if it is empty.
func listed(list []str) (out topology.Opt[[]string]) {
	if len(list) > 0 {
		out = topology.Opt[[]string]{Value: strs(list), Set: true, Origin: list[0].Origin}
	}
	return out
}

// unless is an attribute without the value that it has anyway.
func unless[T comparable](o topology.Opt[T], usual T) topology.Opt[T] {
	if o.Value == usual {
		return topology.Opt[T]{}
	}
	return o
}

// protocol is one in the words of the language; not set for TCP, and for what is reported here: the
// API knows protocols in upper case only.
func (c *converter) protocol(o str) str {
	known := []string{"TCP", "UDP", "SCTP"}
	if o.Set && !slices.Contains(known, o.Value) {
		c.errorf(o.Origin, "Unknown protocol", "%q is not a valid protocol.%s Use %s.", lineOf(o.Value), topology.DidYouMean(strings.ToUpper(o.Value), known), topology.OneOf(known))
		return str{}
	}
	return unless(lower(o), "tcp")
}

// lower is a word in the case that the language has.
func lower(o str) str {
	o.Value = strings.ToLower(o.Value)
	return o
}
