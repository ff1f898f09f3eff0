package kubernetes

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/topology"
)

// made is a workload with its pods, in their order.
type made struct {
	topology.Workload
	namespace string
	pods      []*topology.Pod
	whole     bool // a manifest of it makes the same pods again, where they are
	// What a server writes more than once: the template, and what pods say of their owner.
	text, maker tree
	node        string // that all of them are on because it says so; "": it does not
}

// identity is what a pod and a workload are found by.
type identity struct{ kind, namespace, name string }

// workloads are those of the pods, in the order of the scenario. How they are exported depends on
// what is before them: nodes take turns.
func (e *exporter) workloads(pods []*topology.Pod, nodes []string) (list []*made, of map[*topology.Pod]*made) {
	found := map[identity]*made{}
	of = map[*topology.Pod]*made{}
	for _, p := range pods {
		if p.Workload.Kind == "" {
			continue
		}
		k := identity{p.Workload.Kind, p.Namespace, p.Workload.Name}
		if found[k] == nil {
			found[k] = &made{Workload: p.Workload, namespace: p.Namespace}
			list = append(list, found[k])
		}
		found[k].pods = append(found[k].pods, p)
		of[p] = found[k]
	}
	if e.serves {
		return list, of
	}
	turn := 0                   // of the next group of pods, as an import makes them
	groups := map[string]bool{} // those of pods that are written one by one
	decided := map[*made]bool{} // each at its first pod
	for _, p := range pods {
		m := of[p]
		if m != nil && !decided[m] {
			decided[m] = true
			if why := m.decide(e, nodes, turn); why != "" {
				e.lose(p.Origin, "%s %s: %s, so they are written as pods", m.Kind, m.Name, why)
			} else {
				m.whole = true
				turn++
			}
		}
		if m != nil && m.whole {
			continue
		}
		if id := p.Namespace + "/" + p.Block + "/" + e.alike(p); p.Key == "" || p.Name != topology.NameOf(p.Block, p.Key) || !groups[id] {
			groups[id] = true
			turn++
		}
	}
	return list, of
}

// decide finds out whether a manifest of the workload makes these pods; if not, why.
func (m *made) decide(e *exporter, nodes []string, turn int) (why string) {
	first := m.pods[0]
	own := len(m.pods) > 1 && first.Hostname == first.Name
	if m.Kind == topology.StatefulSet && first.Subdomain != "" {
		own = first.Hostname != first.Name
	}
	switch {
	case slices.ContainsFunc(m.pods, func(p *topology.Pod) bool { return p.Block != first.Block || e.alike(p) != e.alike(first) }):
		return "its pods differ"
	case !first.Serving || first.Terminating:
		return "its pods are not ready"
	case len(first.Labels) == 0:
		return "its pods have no labels to be selected by"
	case own || !m.named():
		return "its pods have other names than it would give them"
	case m.Kind == topology.DaemonSet:
		if len(m.pods) != len(nodes) || slices.ContainsFunc(m.pods, func(p *topology.Pod) bool { return p.Node.Name != p.Key }) {
			return "its pods are not on every node"
		}
		return ""
	}
	inTurn, together := true, true
	for k, p := range m.pods {
		inTurn = inTurn && p.Node.Name == nodes[(turn+k)%len(nodes)]
		together = together && p.Node == first.Node
	}
	switch {
	case inTurn:
		return ""
	case together:
		m.node = first.Node.Name
		return ""
	}
	return "its pods are on nodes that it would not choose"
}

// named reports pods with the names that an import of the workload gives them.
func (m *made) named() bool {
	for k, p := range m.pods {
		want := m.Name
		switch {
		case m.Kind == topology.DaemonSet:
			want = topology.NameOf(m.Name, p.Key)
		case m.Kind == topology.StatefulSet:
			want = topology.NameOf(m.Name, strconv.Itoa(m.start()+k))
		case len(m.pods) > 1:
			want = topology.NameOf(m.Name, strconv.Itoa(k))
		}
		if p.Name != want {
			return false
		}
	}
	return true
}

// start is the number of the first pod.
func (m *made) start() int {
	n, _ := strconv.Atoi(m.pods[0].Key) // other keys are no numbers of a StatefulSet: named says so
	return max(n, 0)
}

// alike is the same for pods that one template makes.
func (e *exporter) alike(p *topology.Pod) string {
	q := *p
	if q.Hostname == q.Name {
		q.Hostname = "its name"
	}
	status := fields("ready", q.Serving, "terminating", q.Terminating)
	return string(fields("labels", q.Labels, "spec", e.podSpec(&q, ""), "status", status).appendJSON(nil))
}

// labels are those that all pods have.
func (m *made) labels() map[string]string {
	out := map[string]string{}
	for k, v := range m.pods[0].Labels {
		if !slices.ContainsFunc(m.pods, func(p *topology.Pod) bool { have, ok := p.Labels[k]; return !ok || have != v }) {
			out[k] = v
		}
	}
	return out
}

// template is that of the pods of a workload, with the labels by which it selects them.
func (e *exporter) template(m *made) (selector, template tree) {
	labels := labelTree(m.labels())
	selector = fields("matchLabels", labels)
	if m.text != nil {
		return selector, m.text
	}
	first := *m.pods[0]
	if m.Kind == topology.StatefulSet && first.Subdomain != "" {
		first.Hostname, first.Subdomain = "", "" // which the set gives its pods
	}
	body := e.podSpec(&first, m.node)
	if m.Kind == topology.Job {
		body = append(slices.DeleteFunc(body, func(f field) bool { return f.key == "restartPolicy" }), field{"restartPolicy", "Never"})
	}
	m.text = fields("metadata", fields("labels", labels), "spec", body)
	if e.serves {
		m.text = once(m.text)
	}
	return selector, m.text
}

// once is an object that is written more than once, as JSON.
func once(t tree) tree { return tree{{"", raw(t.appendJSON(nil))}} }

// workload writes a workload: as a manifest, or with what its controller says of it.
func (e *exporter) workload(m *made) {
	n := len(m.pods)
	selector, template := e.template(m)
	meta := append(e.inNamespace(m.Name, m.namespace, nil), e.served("generation", 1)...)
	pods := fields("selector", selector, "template", template)
	replicas := append(tree{{"replicas", n}}, pods...)
	rolling := fields("type", "RollingUpdate")
	switch m.Kind {
	case topology.Deployment:
		e.object("apps/v1", m.Kind, append(meta, e.served("annotations", revision)...),
			"spec", append(replicas, e.served("strategy", rolling, "progressDeadlineSeconds", 600, "revisionHistoryLimit", 10)...),
			"status", e.status(m, "replicas updatedReplicas", "readyReplicas availableReplicas", "unavailableReplicas", present(n-m.ready()), "conditions", []tree{
				append(condition("Available", m.available()), field{"reason", map[bool]string{true: "MinimumReplicasAvailable", false: "MinimumReplicasUnavailable"}[m.available()]}),
				append(condition("Progressing", true), field{"reason", "NewReplicaSetAvailable"})}))
		if e.serves { // what the controller of Deployments makes
			meta := append(e.inNamespace(e.replicaSet(m), m.namespace, m.labels()), fields("generation", 1, "annotations", revision)...)
			e.object("apps/v1", topology.ReplicaSet, append(meta, field{"ownerReferences", []tree{ownerOf(m.Workload, m.namespace)}}), "spec", replicas, "status", e.replicas(m))
		}
	case topology.ReplicaSet:
		e.object("apps/v1", m.Kind, meta, "spec", replicas, "status", e.replicas(m))
	case topology.StatefulSet:
		var ordinals tree
		if from := m.start(); from > 0 {
			ordinals = fields("start", from)
		}
		e.object("apps/v1", m.Kind, meta,
			"spec", append(replicas, append(fields("serviceName", m.pods[0].Subdomain, "ordinals", ordinals), e.served("updateStrategy", rolling, "podManagementPolicy", "OrderedReady", "revisionHistoryLimit", 10)...)...),
			"status", e.status(m, "replicas currentReplicas updatedReplicas", "readyReplicas availableReplicas", "currentRevision", m.Name+"-1", "updateRevision", m.Name+"-1"))
	case topology.DaemonSet:
		e.object("apps/v1", m.Kind, meta, "spec", append(pods, e.served("updateStrategy", rolling, "revisionHistoryLimit", 10)...),
			"status", e.status(m, "desiredNumberScheduled currentNumberScheduled updatedNumberScheduled", "numberReady numberAvailable", "numberMisscheduled", 0))
	case topology.Job:
		e.object("batch/v1", m.Kind, meta, "spec", append(fields("parallelism", n, "completions", n, "template", template), e.served("selector", selector, "backoffLimit", 6, "completionMode", "NonIndexed", "suspend", false)...),
			"status", e.served("startTime", Born, "active", n, "ready", m.ready()))
	}
}

// revision is what a Deployment and its ReplicaSet have of their history.
var revision = fields("deployment.kubernetes.io/revision", "1")

// status is what a controller says of its pods: fields with their number, fields with how many of
// them are ready, and more.
func (e *exporter) status(m *made, all, ready string, more ...any) tree {
	out := []any{"observedGeneration", 1}
	for _, key := range strings.Fields(all) {
		out = append(out, key, len(m.pods))
	}
	for _, key := range strings.Fields(ready) {
		out = append(out, key, m.ready())
	}
	return e.served(append(out, more...)...)
}

// replicas is the status of a ReplicaSet.
func (e *exporter) replicas(m *made) tree {
	return e.status(m, "replicas fullyLabeledReplicas", "readyReplicas availableReplicas")
}

func (m *made) ready() (n int) {
	for _, p := range m.pods {
		if p.Ready {
			n++
		}
	}
	return n
}

// available reports a Deployment of which not more than a quarter is missing, the default of
// maxUnavailable.
func (m *made) available() bool { return m.ready() >= len(m.pods)-len(m.pods)/4 }

// replicaSet is the name of the ReplicaSet of a Deployment: another one for each template.
func (e *exporter) replicaSet(m *made) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789" // SafeEncodeString of apimachinery, util/rand
	_, template := e.template(m)
	h := fnv.New64a()
	_, _ = h.Write(template.appendJSON(nil))
	name := m.Name + "-"
	for rest := h.Sum64(); len(name) < len(m.Name)+11; rest /= uint64(len(letters)) {
		name += string(letters[rest%uint64(len(letters))])
	}
	return name
}

// madeBy says in a pod which workload made it.
func (e *exporter) madeBy(m *made) tree {
	if m == nil || !e.serves {
		return nil
	}
	if m.maker == nil {
		of := m.Workload
		if of.Kind == topology.Deployment {
			of = topology.Workload{Kind: topology.ReplicaSet, Name: e.replicaSet(m)}
		}
		m.maker = once(ownerOf(of, m.namespace))
	}
	return fields("ownerReferences", []tree{m.maker})
}

// ownerOf refers to the workload that an object is made of.
func ownerOf(w topology.Workload, namespace string) tree {
	version := "apps/v1"
	if w.Kind == topology.Job {
		version = "batch/v1"
	}
	return fields("apiVersion", version, "kind", w.Kind, "name", w.Name,
		"uid", uid(w.Kind, fields("name", w.Name, "namespace", namespace)), "controller", true, "blockOwnerDeletion", true)
}
