//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/topology"
)

// crowd is a lab with policies: each policy isolates one pod, and allows a twentieth of
// all pods to one port.
type crowd struct {
	nodes, pods, policies int
	style                 string
	moved                 bool // a pod has another label
	listen                bool // pods have an agent each
	deny                  int  // that many pods deny all ingress
}

func (c crowd) spec() *topology.Spec {
	spec := Shape{Nodes: c.nodes, Pods: c.pods}.Spec()
	spec.PolicyOptions.Style = set(c.style)
	for i := range spec.Pods {
		group := i % 20
		if c.moved && i == c.pods/2 {
			group = (group + 1) % 20
		}
		spec.Pods[i].Labels = map[string]string{"app": fmt.Sprint("a", i), "group": fmt.Sprint("g", group), "half": fmt.Sprint(i < c.deny)}
		if c.listen {
			spec.Pods[i].Ports = []topology.PortSpec{{Name: "http", Port: set(80)}}
		}
	}
	selector := func(key, value string) topology.SelectorSpec {
		return topology.SelectorSpec{Set: true, MatchLabels: map[string]string{key: value}}
	}
	for i := range c.policies {
		spec.Policies = append(spec.Policies, topology.PolicySpec{Name: fmt.Sprint("p", i), PodSelector: selector("app", fmt.Sprint("a", i%c.pods)),
			Ingress: []topology.PolicyRuleSpec{{
				Peers: []topology.PeerSpec{{PodSelector: selector("group", fmt.Sprint("g", (i+1)%20))}},
				Ports: []topology.PolicyPortSpec{{Port: set("80")}},
			}}})
	}
	if c.deny > 0 {
		spec.Policies = append(spec.Policies, topology.PolicySpec{Name: "deny", PodSelector: selector("half", "true"), PolicyTypes: set([]string{"Ingress"})})
	}
	return spec
}

const manyPods, manyPolicies = 1000, 1000

// programPolicies compiles and applies many policies, and changes one label; in the first
// style against the floor.
func programPolicies(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for i, style := range styles() {
		o.Progress(fmt.Sprintf("%d policies × %d pods, style %s", manyPolicies, manyPods, style))
		c := crowd{nodes: 20, pods: manyPods, policies: manyPolicies, style: style}
		var bare *order
		if i == 0 {
			bare = &order{Shape: Shape{Nodes: c.nodes, Pods: c.pods}}
			done, err := bare.withRules(c.spec())
			defer done()
			if err != nil {
				return nil, err
			}
		}
		list, err := compare(o.Rounds, bare, func() (sample, error) { return c.program(ctx) })
		if err != nil {
			return nil, err
		}
		rows = append(rows, c.rows(list, bare != nil)...)
	}
	return rows, nil
}

// styles are those of the catalogue, without the one meant for teaching.
func styles() []string {
	var names []string
	for _, s := range datapath.Styles() {
		if s.Conforms {
			names = append(names, s.Name)
		}
	}
	return names
}

func (c crowd) rows(list []round, floor bool) []Row {
	name := fmt.Sprintf("%d policies × %d pods, %s", c.policies, c.pods, c.style)
	compile, _, _ := medians(list, func(s sample) time.Duration { return s.compile })
	applied, _, _ := medians(list, up)
	edited, _, _ := medians(list, edit)
	checked, _, _ := medians(list, func(s sample) time.Duration { return s.check })
	share := median(list, func(r round) float64 { return float64(r.netlab.edit) / float64(r.netlab.up) })
	whole := Row{What: name + ": up", Netlab: milliseconds(applied), OK: true}
	if floor {
		whole = ratioRow(name+": up, against bare restores", list, up, 1.3)
	}
	return []Row{
		{What: name + ": resolve and compile", Netlab: milliseconds(compile), Got: milliseconds(compile), Goal: "≤ 1 s", OK: compile <= time.Second},
		whole,
		{What: name + ": one label changes", Netlab: milliseconds(edited), Floor: milliseconds(applied),
			Got: fmt.Sprintf("%.1f %%", 100*share), Goal: "≤ 5 %", OK: share <= 0.05},
		{What: name + ": until the rest is checked, too", Netlab: milliseconds(checked), Floor: milliseconds(applied),
			Got: fmt.Sprintf("%.1f %%", 100*float64(checked)/float64(applied)), OK: true},
	}
}

// program times compiling a crowd, applying it, and the change of a label.
func (c crowd) program(ctx context.Context) (got sample, err error) {
	started := time.Now()
	_, before, err := compile(c.spec())
	if err != nil {
		return got, err
	}
	got.compile = time.Since(started)
	c.moved = true
	_, after, err := compile(c.spec())
	if err != nil {
		return got, err
	}
	started = time.Now()
	lab, err := engine.Start(ctx, "")
	if err != nil {
		return got, err
	}
	defer lab.Abandon()
	if err := apply(ctx, lab, before); err != nil {
		return got, err
	}
	got.up = time.Since(started)
	started = time.Now()
	if err := apply(ctx, lab, after); err != nil {
		return got, err
	}
	got.edit = time.Since(started)
	_, err = lab.Probe(ctx, nil) // waits until the lab may be used
	got.check = time.Since(started)
	return got, err
}

// deniedMesh probes all pairs of a hundred pods, half of which are silently denied.
func deniedMesh(ctx context.Context, o Options) ([]Row, error) {
	// The kernel has one neighbour table for all namespaces, with 1024 entries by
	// default: with this many nodes all pods fit.
	const pods = 100
	o.Progress("100 × 100 pods, half of the pairs denied")
	list := make([]round, o.Rounds)
	for i := range list {
		c := crowd{nodes: 16, pods: pods, style: styles()[0], listen: true}
		open, err := c.mesh(ctx, pods*pods)
		if err != nil {
			return nil, err
		}
		c.deny = pods / 2
		half, err := c.mesh(ctx, pods*pods/2+pods/2)
		if err != nil {
			return nil, err
		}
		list[i] = round{netlab: sample{up: half}, floor: sample{up: open + meshDeadline}}
	}
	return []Row{ratioRow("100 × 100 pods, half denied, over one deadline and an open mesh", list, up, 2)}, nil
}

const meshDeadline = time.Second

// mesh probes all pairs, timing the round after neighbour resolution, and expects that
// many connections.
func (c crowd) mesh(ctx context.Context, connected int) (time.Duration, error) {
	lab, running, err := start(ctx, c.spec())
	if err != nil {
		return 0, err
	}
	defer running.Abandon()
	var flows []flow.Flow
	for _, from := range lab.Pods {
		for _, to := range lab.Pods {
			flows = append(flows, flow.Flow{From: from.Netns(), To: netip.AddrPortFrom(to.Addrs[0], 80), Within: meshDeadline})
		}
	}
	// Neighbours are resolved in the first round. Others filling the kernel's neighbour
	// table at the same time may cost a packet.
	n, met := 0, false
	for range 5 {
		started := time.Now()
		seen, err := running.Probe(ctx, flows)
		took := time.Since(started)
		if err != nil {
			return 0, err
		}
		n = 0
		for _, s := range seen {
			if s.Outcome == flow.Connected {
				n++
			}
		}
		if n == connected && met {
			return took, nil
		}
		met = true
	}
	return 0, fmt.Errorf("%d of %d pairs connect, not %d", n, len(flows), connected)
}

// packetCosts measures connections between two pods of a node, by style and number of
// policies on that node.
func packetCosts(ctx context.Context, o Options) ([]Row, error) {
	cost := func(style string, policies int) (time.Duration, error) {
		var all []time.Duration
		for range o.Rounds {
			d, err := crowd{nodes: 1, pods: 101, policies: policies, style: style, listen: true}.cost(ctx)
			if err != nil {
				return 0, err
			}
			all = append(all, d)
		}
		return slices.Min(all), nil
	}
	o.Progress("connections without policies")
	bare, err := cost(styles()[0], 0)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, style := range styles() {
		for _, n := range []int{1, 10, 100, 1000} {
			o.Progress(fmt.Sprintf("connections with %d policies, style %s", n, style))
			d, err := cost(style, n)
			if err != nil {
				return nil, err
			}
			rows = append(rows, Row{What: fmt.Sprintf("a connection on a node with %d policies, %s", n, style), Netlab: microseconds(d), Floor: microseconds(bare),
				Got: fmt.Sprintf("%.2f ×", float64(d)/float64(bare)), OK: true})
		}
	}
	return rows, nil
}

// cost is the time of a connection from the pod of the last group to the first pod,
// which the first policy allows.
func (c crowd) cost(ctx context.Context) (time.Duration, error) {
	lab, running, err := start(ctx, c.spec())
	if err != nil {
		return 0, err
	}
	defer running.Abandon()
	to, from := lab.Pods[0], lab.Pods[0]
	for _, pod := range lab.Pods {
		switch pod.Labels["app"] {
		case "a0":
			to = pod
		case "a81": // of group g1
			from = pod
		}
	}
	took, err := connect(ctx, running, flow.Flow{From: from.Netns(), To: netip.AddrPortFrom(to.Addrs[0], 80), Within: time.Second}, 12)
	if err != nil {
		return 0, fmt.Errorf("%s with %d policies: %w", c.style, c.policies, err)
	}
	return took, nil
}

// connect makes batches of connections, and returns the time of one in the fastest:
// other load on the machine slows the rest.
func connect(ctx context.Context, lab *engine.Client, f flow.Flow, batches int) (time.Duration, error) {
	flows := slices.Repeat([]flow.Flow{f}, 1000)
	if _, err := lab.Probe(ctx, flows[:10]); err != nil {
		return 0, err
	}
	var all []time.Duration
	for range batches {
		started := time.Now()
		seen, err := lab.Probe(ctx, flows)
		if err != nil {
			return 0, err
		}
		all = append(all, time.Since(started)/time.Duration(len(flows)))
		for _, s := range seen {
			if s.Outcome != flow.Connected {
				return 0, errors.New(string(s.Outcome))
			}
		}
	}
	return slices.Min(all), nil
}

func microseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000)
}
