//go:build linux

package bench

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/iptables"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
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

// policies measures many policies, a half-denied mesh, and the cost of a packet in each
// style.
func policies(ctx context.Context, o Options) ([]Row, error) {
	var rows []Row
	for _, measure := range []func(context.Context, Options) ([]Row, error){programPolicies, deniedMesh, packetCosts} {
		more, err := measure(ctx, o)
		if err != nil {
			return rows, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

const manyPods, manyPolicies = 1000, 1000

// programPolicies compiles and applies many policies, and changes one label.
func programPolicies(ctx context.Context, o Options) ([]Row, error) {
	dir, err := os.MkdirTemp("", "netlab-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var rows []Row
	for i, style := range styles() {
		o.Progress(fmt.Sprintf("%d policies × %d pods, style %s", manyPolicies, manyPods, style))
		c := crowd{nodes: 20, pods: manyPods, policies: manyPolicies, style: style}
		bare := order{Shape: Shape{Nodes: c.nodes, Pods: c.pods}}
		if i == 0 {
			if bare.Rules, bare.Sets, err = policyFiles(dir, c); err != nil {
				return nil, err
			}
		}
		more, err := c.program(ctx, o.Rounds, bare)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// styles are those of the catalogue, without the one meant for teaching.
func styles() []string {
	var names []string
	for _, s := range datapath.Styles() {
		if s.Facts().Conforms {
			names = append(names, s.Name())
		}
	}
	return names
}

// program times compiling, applying and the change of one label; against the floor if
// it has files.
func (c crowd) program(ctx context.Context, rounds int, bare order) ([]Row, error) {
	var compiles, applies, edits, checks, bares []time.Duration
	var ratios, shares []float64
	for range rounds {
		var floor time.Duration
		if len(bare.Rules) > 0 {
			t, err := runFloor(bare)
			if err != nil {
				return nil, fmt.Errorf("floor: %w", err)
			}
			floor = t.up
			settle()
		}
		took, err := c.once(ctx)
		if err != nil {
			return nil, err
		}
		settle()
		compiles, applies, bares = append(compiles, took.compile), append(applies, took.apply), append(bares, floor)
		edits, checks = append(edits, took.edit), append(checks, took.check)
		ratios, shares = append(ratios, float64(took.apply)/float64(floor)), append(shares, float64(took.edit)/float64(took.apply))
	}
	name := fmt.Sprintf("%d policies × %d pods, %s", c.policies, c.pods, c.style)
	compile, share := Median(compiles), Median(shares)
	rows := []Row{{What: name + ": resolve and compile", Netlab: milliseconds(compile), Got: milliseconds(compile), Goal: "≤ 1 s", OK: compile <= time.Second}}
	if len(bare.Rules) > 0 {
		rows = append(rows, ratioRow(name+": up, against bare restores", Median(applies), Median(bares), Median(ratios), 1.3))
	} else {
		rows = append(rows, Row{What: name + ": up", Netlab: milliseconds(Median(applies)), OK: true})
	}
	return append(rows,
		Row{What: name + ": one label changes", Netlab: milliseconds(Median(edits)), Floor: milliseconds(Median(applies)),
			Got: fmt.Sprintf("%.1f %%", 100*share), Goal: "≤ 5 %", OK: share <= 0.05},
		Row{What: name + ": until the rest is checked, too", Netlab: milliseconds(Median(checks)), Floor: milliseconds(Median(applies)),
			Got: fmt.Sprintf("%.1f %%", 100*float64(Median(checks))/float64(Median(applies))), OK: true}), nil
}

// crowdTimes is how long a crowd took to compile, to come up, and to change a label:
// until the reply, and until the lab may be used.
type crowdTimes struct{ compile, apply, edit, check time.Duration }

func (c crowd) once(ctx context.Context) (took crowdTimes, err error) {
	started := time.Now()
	before, err := compileSpec(c.spec())
	if err != nil {
		return took, err
	}
	took.compile = time.Since(started)
	c.moved = true
	after, err := compileSpec(c.spec())
	if err != nil {
		return took, err
	}
	started = time.Now()
	lab, err := engine.Start(ctx, "")
	if err != nil {
		return took, err
	}
	defer lab.Abandon()
	if _, err = lab.Apply(ctx, before, engine.Meta{}, false); err != nil {
		return took, err
	}
	took.apply = time.Since(started)
	started = time.Now()
	if _, err = lab.Apply(ctx, after, engine.Meta{}, false); err != nil {
		return took, err
	}
	took.edit = time.Since(started)
	_, err = lab.Probe(ctx, nil) // waits until the lab may be used
	took.check = time.Since(started)
	return took, err
}

// policyFiles writes what iptables-restore and ipset restore read on every node.
func policyFiles(dir string, c crowd) (rules, sets []string, err error) {
	p, err := compileSpec(c.spec())
	if err != nil {
		return nil, nil, err
	}
	for _, n := range p.Netns {
		if n.Kind != plan.Node {
			continue
		}
		var text strings.Builder
		for _, s := range n.Sets {
			fmt.Fprintf(&text, "create %s %s family inet\n", s.Name, s.Type)
			for _, m := range s.Members() {
				fmt.Fprintf(&text, "add %s %s\n", s.Name, m)
			}
		}
		for _, file := range []struct {
			list *[]string
			name string
			text string
		}{{&rules, n.Name + ".rules", iptables.RestoreText(iptables.Create(n.Tables), false)}, {&sets, n.Name + ".sets", text.String()}} {
			path := filepath.Join(dir, file.name)
			if err := os.WriteFile(path, []byte(file.text), 0o600); err != nil {
				return nil, nil, err
			}
			*file.list = append(*file.list, path)
		}
	}
	return rules, sets, nil
}

// deniedMesh probes all pairs of a hundred pods, half of which are silently denied.
func deniedMesh(ctx context.Context, o Options) ([]Row, error) {
	// The kernel has one neighbour table for all namespaces, with 1024 entries by
	// default: with this many nodes all pods fit.
	const pods = 100
	o.Progress("100 × 100 pods, half of the pairs denied")
	var opens, halves []time.Duration
	var ratios []float64
	for range o.Rounds {
		open, err := crowd{nodes: 16, pods: pods, style: styles()[0], listen: true}.mesh(ctx, pods*pods)
		if err != nil {
			return nil, err
		}
		half, err := crowd{nodes: 16, pods: pods, style: styles()[0], listen: true, deny: pods / 2}.mesh(ctx, pods*pods/2+pods/2)
		if err != nil {
			return nil, err
		}
		opens, halves = append(opens, open), append(halves, half)
		ratios = append(ratios, float64(half)/float64(open+meshDeadline))
	}
	return []Row{ratioRow("100 × 100 pods, half denied, over one deadline and an open mesh", Median(halves), Median(opens)+meshDeadline, Median(ratios), 2)}, nil
}

const meshDeadline = time.Second

// mesh probes all pairs, timing the round after neighbour resolution, and expects that
// many connections.
func (c crowd) mesh(ctx context.Context, connected int) (time.Duration, error) {
	spec := c.spec()
	lab, problems := resolve.Lab(spec, datapath.Catalogue())
	for _, p := range problems {
		if !p.Warning {
			return 0, fmt.Errorf("%s: %s", p.Summary, p.Detail)
		}
	}
	p, err := datapath.Compile(lab)
	if err != nil {
		return 0, err
	}
	running, err := engine.Start(ctx, "")
	if err != nil {
		return 0, err
	}
	defer running.Abandon()
	if _, err := running.Apply(ctx, p, engine.Meta{}, false); err != nil {
		return 0, err
	}
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
	const connections, batches = 1000, 12
	cost := func(style string, policies int) (time.Duration, error) {
		var all []time.Duration
		for range o.Rounds {
			d, err := crowd{nodes: 1, pods: 101, policies: policies, style: style, listen: true}.connect(ctx, connections, batches)
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

// connect makes connections from the pod of the last group to the first pod, which the
// first policy allows, and returns the time of one in the fastest of some batches:
// other load on the machine slows the rest.
func (c crowd) connect(ctx context.Context, connections, batches int) (time.Duration, error) {
	lab, _ := resolve.Lab(c.spec(), datapath.Catalogue())
	p, err := datapath.Compile(lab)
	if err != nil {
		return 0, err
	}
	running, err := engine.Start(ctx, "")
	if err != nil {
		return 0, err
	}
	defer running.Abandon()
	if _, err := running.Apply(ctx, p, engine.Meta{}, false); err != nil {
		return 0, err
	}
	to, from := lab.Pods[0], lab.Pods[0]
	for _, pod := range lab.Pods {
		switch pod.Labels["app"] {
		case "a0":
			to = pod
		case "a81": // of group g1
			from = pod
		}
	}
	flows := make([]flow.Flow, connections)
	for i := range flows {
		flows[i] = flow.Flow{From: from.Netns(), To: netip.AddrPortFrom(to.Addrs[0], 80), Within: time.Second}
	}
	if _, err := running.Probe(ctx, flows[:10]); err != nil {
		return 0, err
	}
	var all []time.Duration
	for range batches {
		started := time.Now()
		seen, err := running.Probe(ctx, flows)
		if err != nil {
			return 0, err
		}
		all = append(all, time.Since(started)/time.Duration(connections))
		for _, s := range seen {
			if s.Outcome != flow.Connected {
				return 0, fmt.Errorf("%s with %d policies: %s", c.style, c.policies, s.Outcome)
			}
		}
	}
	return slices.Min(all), nil
}

func microseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000)
}
