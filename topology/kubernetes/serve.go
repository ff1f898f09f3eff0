package kubernetes

import (
	"crypto/sha1" //nolint:gosec // RFC 9562 says how these names are made
	"fmt"
	"maps"
	"net/netip"
	"strings"

	"github.com/netlab/netlab/topology"
)

// What a server adds to the manifests of a cluster: what its controllers, its kubelets and its
// own defaults would have written.

// Born is every point in time in what Served writes: a lab as text has no clock. A server puts
// there when it first saw the object.
const Born = "1970-01-01T00:00:00Z"

// Version is the version of Kubernetes whose objects these are.
const Version = "v1.35.4"

// Served is the cluster of a lab as a server of the Kubernetes API has it: an object of JSON on
// each line, without a resource version.
func Served(spec *topology.Spec, lab *topology.Lab) []byte {
	var out []byte
	e := &exporter{serves: true, endpoints: endpoints{}, write: func(o tree) { out = append(o.appendJSON(out), '\n') }}
	var cidrs []string
	for _, c := range lab.Network.ServiceCIDRs {
		cidrs = append(cidrs, c.String())
		e.families = append(e.families, familyOf(c.Addr().Is6()))
	}
	if cidrs != nil {
		e.object("networking.k8s.io/v1", "ServiceCIDR", fields("name", "kubernetes"), "spec", fields("cidrs", cidrs),
			"status", fields("conditions", []tree{condition("Ready", true)}))
	}
	e.cluster(spec, lab)
	e.classes(lab)
	return out
}

func familyOf(six bool) string {
	if six {
		return "IPv6"
	}
	return "IPv4"
}

// served are fields that only a server has.
func (e *exporter) served(pairs ...any) tree {
	if !e.serves {
		return nil
	}
	return fields(pairs...)
}

// only is a value that only a server has.
func (e *exporter) only(value string) any {
	if !e.serves {
		return nil
	}
	return value
}

// time is a point in time, which in a manifest is a given one.
func (e *exporter) time(given string) string {
	if e.serves {
		return Born
	}
	return given
}

// endpoints of many services are often the same: a server writes each once.
type endpoints map[shared]tree

// shared is what an endpoint of a slice says.
type shared struct {
	addr                        netip.Addr
	pod                         *topology.Pod
	hostname, node, zone        string
	ready, serving, terminating bool
	hints                       string // for zones and nodes
}

func sharedOf(x *topology.Endpoint, hostname string) shared {
	k := shared{addr: x.Addr.Addr(), pod: x.Pod, hostname: hostname, node: x.Node, zone: x.Zone, ready: x.Ready, serving: x.Serving, terminating: x.Terminating}
	if len(x.ForZones)+len(x.ForNodes) > 0 {
		k.hints = strings.Join(x.ForZones, " ") + "/" + strings.Join(x.ForNodes, " ")
	}
	return k
}

func (all endpoints) of(k shared, make func() tree) tree {
	if all == nil {
		return make()
	}
	if all[k] == nil {
		all[k] = tree{{"", raw(make().appendJSON(nil))}}
	}
	return all[k]
}

// uid identifies an object by its name: one that is made again is the same.
func uid(kind string, meta tree) string {
	h := sha1.New() //nolint:gosec // see above
	fmt.Fprintf(h, "netlab\x00%s\x00%s\x00%s", kind, meta.text("namespace"), meta.text("name"))
	b := h.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (t tree) text(key string) string {
	for _, f := range t {
		if f.key == key {
			s, _ := f.value.(string)
			return s
		}
	}
	return ""
}

// servedLabels is a copy of labels, in a server with more.
func (e *exporter) servedLabels(labels map[string]string, more ...string) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	for i := 0; e.serves && i < len(more); i += 2 {
		if _, written := out[more[i]]; !written {
			out[more[i]] = more[i+1]
		}
	}
	return out
}

func condition(kind string, is bool) tree {
	return fields("type", kind, "status", map[bool]string{true: "True", false: "False"}[is], "lastTransitionTime", Born)
}

func (e *exporter) servedNamespace(n *topology.Namespace) {
	e.object("v1", "Namespace", fields("name", n.Name, "labels", n.Labels), "spec", fields("finalizers", []string{"kubernetes"}), "status", fields("phase", "Active"))
	e.object("v1", "ServiceAccount", e.inNamespace("default", n.Name, nil))
}

func (e *exporter) nodeSpec(n *topology.Node) tree {
	if !e.serves || len(n.PodCIDRs) == 0 {
		return nil
	}
	return fields("podCIDR", n.PodCIDRs[0].String())
}

func (e *exporter) nodeStatus(*topology.Node) tree {
	room := fields("cpu", "1", "memory", "1Gi", "pods", "110") // kubectl describe divides by them
	ready := append(condition("Ready", true), field{"lastHeartbeatTime", Born}, field{"reason", "KubeletReady"})
	return e.served("capacity", room, "allocatable", room, "conditions", []tree{ready},
		"nodeInfo", fields("kubeletVersion", Version, "operatingSystem", "linux", "osImage", "netlab", "containerRuntimeVersion", "netlab://1"))
}

func podStatus(p *topology.Pod, containers []tree) tree {
	var states []tree
	for _, c := range containers {
		states = append(states, fields("name", c.text("name"), "image", c.text("image"), "imageID", c.text("image"), "ready", p.Serving, "started", true, "restartCount", 0,
			"state", fields("running", fields("startedAt", Born))))
	}
	host := p.Addrs
	if p.Node != nil {
		host = p.Node.Addrs
	}
	addresses := func(list []string) (first string, all []tree) {
		for _, a := range list {
			all = append(all, fields("ip", a))
		}
		if len(list) > 0 {
			first = list[0]
		}
		return first, all
	}
	podIP, podIPs := addresses(texts(p.Addrs))
	hostIP, hostIPs := addresses(texts(host))
	return fields("phase", "Running", "conditions", []tree{condition("PodScheduled", true), condition("Initialized", true), condition("ContainersReady", p.Serving), condition("Ready", p.Serving)},
		"containerStatuses", states, "hostIP", hostIP, "hostIPs", hostIPs, "podIP", podIP, "podIPs", podIPs, "qosClass", "BestEffort", "startTime", Born)
}

// serviceDefaults is a service with what the API fills in.
func (e *exporter) serviceDefaults(s *topology.Service, spec topology.ServiceSpec) topology.ServiceSpec {
	if s.Type == topology.ExternalName {
		return spec
	}
	set := func(o *str, value string) {
		if !o.Set {
			*o = str{Value: value, Set: true}
		}
	}
	set(&spec.InternalTrafficPolicy, string(s.InternalTrafficPolicy))
	if s.Type != topology.ClusterIP || len(s.ExternalIPs) > 0 {
		set(&spec.ExternalTrafficPolicy, string(s.ExternalTrafficPolicy))
	}
	if !spec.IPFamilies.Set {
		families := e.families[:min(1, len(e.families))]
		if len(s.ClusterIPs) > 0 {
			families = nil
		}
		for _, a := range s.ClusterIPs {
			families = append(families, familyOf(a.Is6()))
		}
		spec.IPFamilies.Value = families
	}
	if !spec.SourceRanges.Set { // of a service that another block made
		for _, r := range s.SourceRanges {
			spec.SourceRanges.Value = append(spec.SourceRanges.Value, r.String())
		}
	}
	set(&spec.IPFamilyPolicy, map[bool]string{false: "SingleStack", true: "RequireDualStack"}[len(spec.IPFamilies.Value) > 1])
	return spec
}

const (
	managedLabel  = "endpointslice.kubernetes.io/managed-by"
	headlessLabel = "service.kubernetes.io/headless"
)

// sliceLabels are those of the slices of a service: in a server, what its controller copies and
// adds (setEndpointSliceLabels of the EndpointSlice controller).
func (e *exporter) sliceLabels(s *topology.Service) map[string]string {
	if !e.serves {
		return map[string]string{serviceLabel: s.Name}
	}
	if s.Selector == nil {
		return e.servedLabels(nil, serviceLabel, s.Name)
	}
	labels := e.servedLabels(s.Labels, managedLabel, "endpointslice-controller.k8s.io")
	labels[serviceLabel] = s.Name
	if len(s.ClusterIPs) == 0 {
		labels[headlessLabel] = ""
	} else {
		delete(labels, headlessLabel)
	}
	return labels
}

// ownedBy says that a slice is made of a service.
func (e *exporter) ownedBy(s *topology.Service) tree {
	if s.Selector == nil {
		return nil
	}
	owner := fields("apiVersion", "v1", "kind", "Service", "name", s.Name, "uid", uid("Service", fields("name", s.Name, "namespace", s.Namespace)), "controller", true)
	return e.served("ownerReferences", []tree{owner})
}

// policyTypes are the directions of a policy: if none is written, those of which it has rules.
func (e *exporter) policyTypes(s topology.PolicySpec) []string {
	if s.PolicyTypes.Set || !e.serves {
		return s.PolicyTypes.Value
	}
	types := []string{"Ingress"}
	if len(s.Egress) > 0 {
		types = append(types, "Egress")
	}
	return types
}
