package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
)

// maxReplicas bounds a workload, as count does a block.
const maxReplicas = 10_000

// workload is an object that makes pods.
type workload struct {
	*header
	scaled
	count    integer
	first    int    // number of the first pod
	perNode  bool   // a pod on each node
	numbered bool   // its pods have numbers even if there is one
	idle     string // why it has no pods; "": it has
	service  str    // below whose name each pod is found by its own
}

func workloadOf(x any) *workload {
	switch x := x.(type) {
	case *deployment:
		return &workload{header: &x.header, scaled: x.Spec.scaled, count: x.Spec.Replicas}
	case *replicaSet:
		return &workload{header: &x.header, scaled: x.Spec, count: x.Spec.Replicas}
	case *statefulSet:
		for _, claim := range x.Spec.Claims { // each a volume of every pod
			x.Spec.Template.Spec.Volumes = append(x.Spec.Template.Spec.Volumes, volume{Name: claim.Meta.Name})
		}
		return &workload{header: &x.header, scaled: x.Spec.scaled, count: x.Spec.Replicas, first: x.Spec.Ordinals.Start.Value, numbered: true, service: x.Spec.Service}
	case *daemonSet:
		return &workload{header: &x.header, scaled: x.Spec.scaled, perNode: true}
	case *replicationController:
		w := &workload{header: &x.header, scaled: scaled{Template: x.Spec.Template}, count: x.Spec.Replicas}
		if len(x.Spec.Selector) > 0 {
			w.Selector = &selector{MatchLabels: x.Spec.Selector, Origin: x.Origin}
		}
		return w
	case *job:
		w := &workload{header: &x.header, scaled: x.Spec.scaled, count: x.Spec.Parallelism}
		if most := x.Spec.Completions; most.Set && most.Value < w.count.Or(1) {
			w.count = most
		}
		if x.Spec.Suspend.Value {
			w.idle = "it is suspended"
		}
		for _, s := range x.Status.Conditions {
			if (s.Type.Value == "Complete" || s.Type.Value == "Failed") && s.Status.Value == "True" {
				w.idle = "it has ended"
			}
		}
		return w
	}
	panic(fmt.Sprintf("kubernetes: %T makes no pods", x)) // kinds has no other
}

// group is pods that one block makes.
type group struct {
	name      string // of the block, without its namespace
	namespace str
	pod       topology.PodSpec // what they have in common
	keys      []string         // of the instances; nil: there is one pod, with no key
	nodes     []str            // of each
	own       bool             // their hostnames are their names
	free      bool             // a cluster adds to their names what it likes
	order     int              // of the object among all
	workload  topology.Workload
	header    *header
}

// workloads adds pods: those that are written, and those of controllers that have none yet.
func (c *converter) workloads() {
	c.written()
	owned := c.owned()
	for _, w := range c.made {
		if !owned[w.Kind.Value+"/"+w.namespace()+"/"+w.Meta.Name.Value] {
			c.controller(w)
		}
	}
	slices.SortStableFunc(c.groups, func(a, b group) int { return cmp.Compare(a.order, b.order) })
	c.apart()
	twice := several(c.groups, func(g group) string { return g.name })
	for i := range c.groups {
		g := &c.groups[i]
		g.pod.Origin = g.header.at()
		g.pod.Block = c.label("pod", g.namespace.Or(topology.DefaultNamespace), g.name, twice[g.name])
		c.carried(g.header, "pod."+g.pod.Block)
		if w := g.workload; w.Kind != "" {
			g.pod.Workload = str{Value: w.Kind, Set: true, Origin: g.header.at()}
			if w.Name != g.pod.Block {
				g.pod.Workload.Value += "/" + w.Name
			}
		}
		for k := range g.nodes {
			p := g.pod
			p.Node, p.Index = g.nodes[k], k
			name := g.name
			if g.keys != nil {
				p.Key = g.keys[k]
				name = topology.NameOf(g.name, p.Key)
			}
			if p.Name() != name {
				p.Named = str{Value: name, Set: true, Origin: g.header.at()}
			}
			if g.own {
				p.Hostname = str{Value: name, Set: true, Origin: g.header.at()}
			}
			c.Pods = append(c.Pods, p)
		}
	}
}

// apart renames pods of workloads that have the names of others, as a Deployment and a StatefulSet
// of one name have: in a cluster their names go on with letters and digits.
func (c *converter) apart() {
	taken := map[string]bool{}
	names := func(g *group) (out []string) {
		of := g.namespace.Or(topology.DefaultNamespace) + "/" + g.name
		if g.keys == nil {
			return []string{of}
		}
		for _, k := range g.keys {
			out = append(out, topology.NameOf(of, k))
		}
		return out
	}
	for _, free := range []bool{false, true} {
		for i := range c.groups {
			g := &c.groups[i]
			if g.free != free {
				continue
			}
			if g.free && slices.ContainsFunc(names(g), func(n string) bool { return taken[n] }) {
				g.name += "-" + strings.ToLower(g.header.Kind.Value)
			}
			for _, n := range names(g) {
				taken[n] = true
			}
		}
	}
}

// owned are controllers whose pods are in the manifests themselves, and those of other
// controllers: kubectl lists all of them.
func (c *converter) owned() map[string]bool {
	out := map[string]bool{}
	for _, p := range c.pods {
		for _, o := range p.Meta.Owners {
			out[o.Kind.Value+"/"+p.namespace()+"/"+o.Name.Value] = true
		}
	}
	present := map[string]bool{}
	for _, w := range c.made {
		present[w.Kind.Value+"/"+w.namespace()+"/"+w.Meta.Name.Value] = true
	}
	for _, w := range c.made {
		self := w.Kind.Value + "/" + w.namespace() + "/" + w.Meta.Name.Value
		for _, o := range w.Meta.Owners {
			switch owner := o.Kind.Value + "/" + w.namespace() + "/" + o.Name.Value; {
			case out[self]: // its pods are there, and so are the owner's
				out[owner] = true
			case present[owner]:
				out[self] = true
			}
		}
	}
	return out
}

// owner is the workload of a pod that is written: the one that made it, or for a ReplicaSet of a
// Deployment, the Deployment.
func (c *converter) owner(p *podObject, made map[identity]*workload) topology.Workload {
	first := func(of []owner) (owner, bool) {
		i := slices.IndexFunc(of, func(o owner) bool { return slices.Contains(topology.Workloads, o.Kind.Value) })
		if i < 0 {
			return owner{}, false
		}
		return of[i], true
	}
	o, is := first(p.Meta.Owners)
	if !is {
		return topology.Workload{}
	}
	if w := made[identity{o.Kind.Value, p.namespace(), o.Name.Value}]; w != nil {
		if above, is := first(w.Meta.Owners); is {
			o = above
		}
	}
	return workloadNamed(o.Kind.Value, o.Name.Value)
}

// workloadNamed is a workload of a kind that labs know, else none.
func workloadNamed(kind, name string) topology.Workload {
	if !slices.Contains(topology.Workloads, kind) {
		return topology.Workload{}
	}
	return topology.Workload{Kind: kind, Name: dashed(name)}
}

// written adds the pods of the manifests, together where one controller made them.
func (c *converter) written() {
	at, made := map[string]int{}, map[identity]*workload{}
	for _, w := range c.made {
		made[identity{w.Kind.Value, w.namespace(), w.Meta.Name.Value}] = w
	}
	for _, p := range c.pods {
		name := dashed(p.Meta.Name.Value)
		if phase := p.Status.Phase.Value; phase == "Succeeded" || phase == "Failed" {
			c.absent(p.at(), "Pod %s: it has ended", lineOf(name))
			continue
		}
		block, key, byOther := madeBy(p)
		spec := c.pod(p.Meta.Namespace, p.Meta.Labels, p.Spec)
		waits := false
		for _, s := range p.Status.Conditions {
			switch no := s.Status.Value == "False"; s.Type.Value {
			case "Ready":
				if no {
					spec.Ready = flag{Set: true, Origin: s.Status.Origin}
				}
			case "PodScheduled":
				waits = no && !p.Spec.NodeName.Set
			}
		}
		switch {
		case waits:
			c.lose("", p.at(), "Pod %s: no node runs it yet", lineOf(name))
			continue
		case p.Meta.DeletionTimestamp.Set:
			spec.Terminating = flag{Value: true, Set: true, Origin: p.Meta.DeletionTimestamp.Origin}
		}
		own := spec.Hostname.Value == name
		if own {
			spec.Hostname = str{}
		}
		g := group{workload: c.owner(p, made), order: p.order, name: name, namespace: p.Meta.Namespace, pod: spec, own: own, nodes: c.place(p.Spec, 1, "pod."+name, len(c.groups)), header: &p.header}
		if byOther {
			id := p.namespace() + "/" + block + "/" + fingerprint(spec) + fmt.Sprint(own, g.workload)
			if i, ok := at[id]; ok {
				c.groups[i].keys, c.groups[i].nodes = append(c.groups[i].keys, key), append(c.groups[i].nodes, g.nodes...)
				continue
			}
			at[id] = len(c.groups)
			g.name, g.keys = block, []string{key}
		}
		c.groups = append(c.groups, g)
	}
	for i := range c.groups {
		c.groups[i].alone()
		c.groups[i].ordered()
	}
}

// alone is a group of one pod: a block with the name of the pod.
func (g *group) alone() {
	if len(g.keys) == 1 && g.keys[0] != "0" {
		g.name, g.keys = topology.NameOf(g.name, g.keys[0]), nil
	}
}

// ordered brings instances into the order in which blocks make them.
func (g *group) ordered() {
	order := make([]int, len(g.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, errX := strconv.Atoi(g.keys[a])
		y, errY := strconv.Atoi(g.keys[b])
		if errX == nil && errY == nil {
			return cmp.Compare(x, y)
		}
		return strings.Compare(g.keys[a], g.keys[b])
	})
	keys, nodes := slices.Clone(g.keys), slices.Clone(g.nodes)
	for i, k := range order {
		g.keys[i], g.nodes[i] = keys[k], nodes[k]
	}
}

// madeBy is the name of a pod in two parts: that of what made it, and what was added.
func madeBy(p *podObject) (block, key string, ok bool) {
	prefix := strings.TrimSuffix(p.Meta.GenerateName.Value, "-")
	if prefix == "" && len(p.Meta.Owners) > 0 {
		prefix = p.Meta.Owners[0].Name.Value
	}
	key, ok = strings.CutPrefix(dashed(p.Meta.Name.Value), dashed(prefix)+"-")
	return dashed(prefix), key, ok && prefix != "" && key != ""
}

// fingerprint is the same for pods that differ in name, place and node only.
func fingerprint(p topology.PodSpec) string {
	text := fmt.Sprint(p.Ready.Value, p.Ready.Set, p.Terminating.Value, p.HostNetwork.Value) + fmt.Sprintf("%q%q", p.Hostname.Value, p.Subdomain.Value) +
		fmt.Sprintf("%q%q%q%q", p.DNSPolicy.Value, p.DNSConfig.Nameservers.Value, p.DNSConfig.Searches.Value, p.DNSConfig.Options.Value)
	for _, k := range slices.Sorted(maps.Keys(p.Labels)) {
		text += fmt.Sprintf("%q%q", k, p.Labels[k])
	}
	for _, x := range p.Ports {
		text += fmt.Sprintf("%q%d%s%d", x.Name, x.Port.Value, x.Protocol.Value, x.HostPort.Value)
	}
	for _, f := range p.Program.Files {
		text += fmt.Sprintf("%q%q%q", f.Path, f.Content.Value, f.Mode.Value)
	}
	return text
}

// controller adds the pods that a controller would make.
func (c *converter) controller(w *workload) {
	c.selects(w)
	g := group{workload: workloadNamed(w.Kind.Value, w.Meta.Name.Value), order: w.order, name: dashed(w.Meta.Name.Value), namespace: w.Meta.Namespace, pod: c.pod(w.Meta.Namespace, w.Template.Meta.Labels, w.Template.Spec), header: w.header}
	g.free = !w.numbered
	if w.service.Value != "" { // StatefulSet's identity: pkg/controller/statefulset/stateful_set_utils.go
		g.own, g.pod.Hostname, g.pod.Subdomain = true, str{}, lower(w.service)
	}
	if len(w.Template.Spec.Containers) == 0 {
		c.errorf(cmp.Or(w.Template.Origin, w.at()), "Template without containers", "The pods of %s %q have no container. Add spec.template.spec.containers.", w.Kind.Value, w.Meta.Name.Value)
	}
	block := "pod." + g.name
	if w.idle != "" {
		c.absent(w.at(), "%s %s: %s", w.Kind.Value, lineOf(w.Meta.Name.Value), w.idle)
		return
	}
	if w.perNode {
		for _, n := range c.choose(&w.Template.Spec, true) {
			g.keys, g.nodes = append(g.keys, n.Name), append(g.nodes, str{Value: n.Name, Set: true, Origin: w.at()})
		}
		if len(g.nodes) == 0 {
			c.lose(block, w.Template.Spec.Origin, "%s", c.noNode(&w.Template.Spec)+", so no node runs a pod")
		}
		slices.Sort(g.keys)
		slices.SortFunc(g.nodes, func(a, b str) int { return strings.Compare(a.Value, b.Value) })
		c.groups = append(c.groups, g)
		return
	}
	count := w.count.Or(1)
	if count < 0 || count > maxReplicas {
		c.errorf(w.count.Origin, "Count out of range", "%d pods are out of range. Use a number from 0 to %d.", count, maxReplicas)
		return
	}
	if count == 0 {
		c.absent(w.at(), "%s %s: it has no replicas, so there is no pod", w.Kind.Value, lineOf(w.Meta.Name.Value))
	}
	g.nodes = c.place(w.Template.Spec, count, block, len(c.groups))
	if count > 1 || w.numbered {
		g.keys = []string{}
		for i := range count {
			g.keys = append(g.keys, strconv.Itoa(w.first+i))
		}
	}
	c.groups = append(c.groups, g)
}

// selects checks that a workload selects the pods of its template, as the API server does.
func (c *converter) selects(w *workload) {
	required := slices.Contains([]string{topology.Deployment, topology.ReplicaSet, topology.StatefulSet, topology.DaemonSet}, w.Kind.Value)
	if w.Selector == nil {
		if required {
			c.Problems = append(c.Problems, topology.Problem{Summary: "Workload without selector", Origin: w.at(), Warning: true,
				Detail: fmt.Sprintf("A cluster refuses %s %q without a selector. Add spec.selector with labels of its template.", w.Kind.Value, lineOf(w.Meta.Name.Value))})
		}
		return
	}
	labels := w.Template.Meta.Labels
	for _, k := range slices.Sorted(maps.Keys(w.Selector.MatchLabels)) {
		v := w.Selector.MatchLabels[k]
		if have, ok := labels[k]; !ok || have != v {
			c.errorf(w.Selector.Origin, "Selector does not match template",
				"The selector of %s %q wants %s: %s, which the labels of its template do not have. Add it to template.metadata.labels.", w.Kind.Value, w.Meta.Name.Value, k, v)
		}
	}
	for _, x := range w.Selector.Expressions {
		have, ok := labels[x.Key.Value]
		in := ok && slices.Contains(strs(x.Values), have)
		operators := map[string]bool{"In": in, "NotIn": !in, "Exists": ok, "DoesNotExist": !ok}
		all := slices.Sorted(maps.Keys(operators))
		switch fits, known := operators[x.Operator.Value]; {
		case !known:
			c.errorf(cmp.Or(x.Operator.Origin, x.Origin), "Unknown operator", "%q is not a valid selector operator.%s Use %s.", lineOf(x.Operator.Value),
				topology.DidYouMean(x.Operator.Value, all), topology.OneOf(all))
		case !fits:
			c.errorf(x.Origin, "Selector does not match template", "The selector of %s %q has an expression on %q that the labels of its template do not fulfil. Change the labels or the expression.",
				w.Kind.Value, lineOf(w.Meta.Name.Value), lineOf(x.Key.Value))
		}
	}
}

// place is the node of each pod: the one that is named, else those that the node selector
// allows, in turn; not set where all nodes are allowed, which then take turns.
func (c *converter) place(p podSpec, count int, block string, turn int) []str {
	out := make([]str, count)
	fits := c.choose(&p, false)
	if len(fits) == 0 && len(c.homes) > 0 && !p.NodeName.Set {
		c.lose(block, p.Origin, "%s, so the nodes take turns", c.noNode(&p))
	}
	for i := range out {
		switch {
		case p.NodeName.Set:
			out[i] = str{Value: dashed(p.NodeName.Value), Set: true, Origin: p.NodeName.Origin}
		case len(fits) > 0 && len(fits) < len(c.homes):
			out[i] = str{Value: fits[(turn+i)%len(fits)].Name, Set: true, Origin: p.Origin}
		}
	}
	return out
}

// noNode says why no node runs a pod.
func (c *converter) noNode(p *podSpec) string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(p.NodeSelector)) {
		pairs = append(pairs, lineOf(k)+": "+lineOf(p.NodeSelector[k]))
	}
	untainted := podSpec{NodeSelector: p.NodeSelector, Tolerations: []toleration{{Operator: str{Value: "Exists"}}}}
	if len(c.choose(&untainted, false)) > 0 {
		return "tolerations: every node that the pod could be on has a taint that it does not tolerate"
	}
	return "nodeSelector: no node has " + strings.Join(pairs, ", ")
}

// pod is what the pods of a template have in common: an agent answers on the ports of all
// containers.
func (c *converter) pod(namespace str, labels map[string]string, p podSpec) topology.PodSpec {
	out := topology.PodSpec{Namespace: unless(namespace, topology.DefaultNamespace), Labels: labels, HostNetwork: unless(p.HostNetwork, false),
		Hostname: unless(p.Hostname, ""), Subdomain: unless(p.Subdomain, "")}
	out.DNSPolicy, out.DNSConfig = c.resolver(p)
	containers := slices.Clone(p.Containers)
	for _, x := range p.InitContainers {
		if x.Restart.Value == "Always" { // a sidecar, which keeps running
			containers = append(containers, x)
		}
	}
	out.Program.Files = c.files(namespace.Or(topology.DefaultNamespace), &p, containers)
	for _, x := range containers {
		for _, port := range x.Ports {
			s := topology.PortSpec{Name: port.Name.Value, Port: port.Port, Protocol: c.protocol(port.Protocol), Origin: port.Origin}
			if !p.HostNetwork.Value { // where it is the port itself
				s.HostPort = unless(port.HostPort, 0)
			}
			// A name is that of the first port that has it (FindPort in pkg/api/v1/pod).
			if s.Name == "" || slices.ContainsFunc(out.Ports, func(o topology.PortSpec) bool { return o.Name == s.Name }) {
				s.Name = portName(s)
			}
			if !slices.ContainsFunc(out.Ports, func(o topology.PortSpec) bool {
				return o.Port.Value == s.Port.Value && o.Protocol.Value == s.Protocol.Value
			}) {
				out.Ports = append(out.Ports, s)
			}
		}
	}
	return out
}

// portName is the name of a port that has none.
func portName(p topology.PortSpec) string {
	return fmt.Sprintf("%s-%d", p.Protocol.Or("tcp"), p.Port.Value)
}
