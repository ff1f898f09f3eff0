package services

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// selects reports whether a service selects a pod: same namespace, labels match.
// A service without a selector selects nothing.
func selects(sv *topology.Service, p *topology.Pod) bool {
	return len(sv.Selector) > 0 && p.Namespace == sv.Namespace && draft.Matches(sv.Selector, p.Labels)
}

// endpoints fills the endpoints of a service port, as the EndpointSlice controller
// does: every selected pod, on the port that the target port means in that pod.
func (r *resolver) endpoints(s *resolving, p *topology.ServicePort, spec topology.ServicePortSpec) {
	number, err := strconv.Atoi(p.TargetPort)
	byName := err != nil
	if !byName && (number < 1 || number > 65535) {
		r.Errorf(draft.At(spec.TargetPort.Origin, spec.Origin), "Port out of range",
			"The target port of port %q is %d. Use a number from 1 to 65535, or the name of a pod's port.", p.Name, number)
		return
	}
	r.writtenEndpoints(s, p)
	var known []string
	selected, named, listening := 0, 0, false
	for _, pod := range r.Lab.Pods {
		if !selects(s.Service, pod) {
			continue
		}
		selected++
		target := uint16(number)
		for _, pp := range pod.Ports {
			if pp.Protocol != p.Protocol {
				continue
			}
			known = append(known, pp.Name)
			if byName && pp.Name == p.TargetPort {
				target = pp.Number
				named++
			}
			listening = listening || pp.Number == target
		}
		if target != 0 {
			for _, e := range s.endpointsOf(pod, target) {
				if pod.HostNetwork {
					addEndpoint(p, e)
				} else { // no other pod has its addresses
					p.Endpoints = append(p.Endpoints, e)
				}
			}
		}
	}
	slices.SortFunc(p.Endpoints, func(a, b *topology.Endpoint) int { return a.Addr.Compare(b.Addr) })
	if selected == 0 {
		return
	}
	where := draft.At(spec.TargetPort.Origin, spec.Port.Origin, spec.Origin)
	slices.Sort(known)
	known = slices.Compact(known)
	switch {
	case byName && named == 0 && spec.Required.Or(true):
		r.Errorf(where, "No pod has that port",
			"None of the pods that service %q selects has a %s port named %q.%s Name one of their ports, or give a number.",
			s.Name, p.Protocol, draft.Shorten(p.TargetPort), draft.HintPorts(p.TargetPort, known))
	case !byName && !listening:
		r.Warnf(where, "No pod listens there",
			"None of the pods that service %q selects listens on %s port %d, so connections will be refused. Set target_port to a port of the pods.",
			s.Name, p.Protocol, number)
	}
}

// portless are the endpoints of a headless service without ports.
func (r *resolver) portless(s *resolving) []*topology.Endpoint {
	p := &topology.ServicePort{TargetPort: "0"}
	r.writtenEndpoints(s, p)
	for _, pod := range r.Lab.Pods {
		if selects(s.Service, pod) {
			for _, e := range s.endpointsOf(pod, 0) {
				addEndpoint(p, e)
			}
		}
	}
	slices.SortFunc(p.Endpoints, func(a, b *topology.Endpoint) int { return a.Addr.Compare(b.Addr) })
	return p.Endpoints
}

// endpointsOf are the endpoints of a pod, one per family of the service.
func (s *resolving) endpointsOf(p *topology.Pod, port uint16) []*topology.Endpoint {
	var out []*topology.Endpoint
	for _, a := range p.Addrs {
		if !slices.Contains(s.six, a.Is6()) {
			continue
		}
		e := &topology.Endpoint{
			Addr: netip.AddrPortFrom(a, port), Pod: p, Node: p.Node.Name, Zone: p.Node.Zone,
			Ready: s.ready(p), Serving: p.Serving, Terminating: p.Terminating, Weight: 1,
		}
		s.hints(e)
		out = append(out, e)
	}
	return out
}

// checkSelector warns of a selector that no pod matches: it may be intended, but a
// typo looks the same.
func (r *resolver) checkSelector(sv *topology.Service, s topology.ServiceSpec) {
	if len(sv.Selector) == 0 || slices.ContainsFunc(r.Lab.Pods, func(p *topology.Pod) bool { return selects(sv, p) }) {
		return
	}
	hint := "Give a pod these labels, or leave it if you want no endpoints."
	if near := r.nearestLabels(sv); near != "" {
		hint = fmt.Sprintf("The nearest labels are %s. Use those, or leave it if you want no endpoints.", near)
	}
	r.Warnf(draft.At(s.SelectorOrigin, s.Origin), "Selector selects nothing",
		"No pod of namespace %q has the labels %s. %s", sv.Namespace, formatLabels(sv.Selector), hint)
}

// nearestLabels is what a selector probably meant: for every key and value that no
// pod has, the nearest that one has.
func (r *resolver) nearestLabels(sv *topology.Service) string {
	var pairs []string
	elsewhere := ""
	for _, p := range r.Lab.Pods {
		if p.Namespace != sv.Namespace {
			if draft.Matches(sv.Selector, p.Labels) {
				elsewhere = fmt.Sprintf("%s, of pod %q in namespace %q", formatLabels(sv.Selector), p.Name, p.Namespace)
			}
			continue
		}
		for k, v := range p.Labels {
			pairs = append(pairs, k+"="+v)
		}
	}
	if elsewhere != "" {
		return elsewhere
	}
	near, found := map[string]string{}, false
	for k, v := range sv.Selector {
		n := k + "=" + v
		if !slices.Contains(pairs, n) {
			if n = topology.Nearest(n, pairs); n == "" {
				return ""
			}
			found = true
		}
		nk, nv, _ := strings.Cut(n, "=")
		near[nk] = nv
	}
	if !found || maps.Equal(near, sv.Selector) {
		return ""
	}
	return formatLabels(near)
}

// formatLabels is a label map as kubectl prints it: sorted, key=value, commas.
func formatLabels(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ",")
}
