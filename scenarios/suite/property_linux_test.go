package suite_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
)

var kernelLabs = flag.Int("kernel-labs", 6, "how many random labs are built in network namespaces")

// In any lab the kernel does what the services mean, and what the rules do on paper.
func TestKernelDoesWhatServicesMean(t *testing.T) {
	for _, seed := range seeds(*kernelLabs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b, err := randomScript(seed).build(t)
			if err != nil {
				t.Fatal(err)
			}
			b.ask(t, seed)
		})
	}
}

// With any policies the kernel does what they mean, in every style.
func TestKernelDoesWhatPoliciesMean(t *testing.T) {
	for _, style := range policyStyles() {
		t.Run(style, func(t *testing.T) {
			for _, seed := range seeds((*kernelLabs + 1) / 2) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					b, err := policyScript(seed, style).build(t)
					if err != nil {
						t.Fatal(err)
					}
					b.ask(t, seed)
				})
			}
		})
	}
}

// ask makes all connections of a lab and compares the results.
func (b *built) ask(t *testing.T, seed uint64) {
	t.Helper()
	b.askIn(t, seed, b.start(t))
}

// askIn asks a lab that runs.
func (b *built) askIn(t *testing.T, seed uint64, running *engine.Client) {
	t.Helper()
	asked := questions(b.lab)
	wrong := map[question][]flow.Result{}
	for _, within := range []time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond} {
		if wrong = b.observe(t, running, asked, within); len(wrong) == 0 {
			return
		}
		// A busy machine answers late: retry the connections that were wrong.
		asked = slices.DeleteFunc(asked, func(q question) bool { return wrong[q] == nil })
	}
	for i, q := range asked {
		if i == 3 {
			t.Errorf("and %d more", len(asked)-i)
			break
		}
		t.Errorf("-seed %d -kernel-labs 1: %s", seed, b.dispute(q, wrong[q]))
	}
}

// observe makes connections, and returns the results of those that differ from meaning
// or rules.
func (b *built) observe(t *testing.T, running *engine.Client, asked []question, within time.Duration) map[question][]flow.Result {
	t.Helper()
	flows := make([]flow.Flow, len(asked))
	for i, q := range asked {
		flows[i] = q.flow()
		flows[i].Within = flow.Stretched(within, flow.TimeScale())
	}
	seen, err := running.Probe(t.Context(), flows)
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[question][]flow.Result{}
	for i, s := range seen {
		if !slices.Contains(b.meaning(asked[i]), s.Result().Core()) || !b.world.Walk(flows[i]).Allows(s.Result()) {
			wrong[asked[i]] = []flow.Result{s.Result()}
		}
	}
	return wrong
}

// start builds the lab in network namespaces.
func (b *built) start(t *testing.T) *engine.Client { return b.startWith(t, engine.Meta{}) }

// startWith builds it with what it reports about itself.
func (b *built) startWith(t *testing.T, meta engine.Meta) *engine.Client {
	t.Helper()
	running, err := engine.Start(t.Context(), "")
	skipUnsupported(t, err)
	t.Cleanup(func() {
		if err := running.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	_, err = running.Apply(t.Context(), b.outspoken(), meta, false)
	skipUnsupported(t, err)
	return running
}

// outspoken is the plan with the ICMP rate limit off for pods, clients and the
// underlay, too: otherwise the kernel reports unreachable ports once a second per
// destination (icmp_ratelimit in Documentation/networking/ip-sysctl.rst), and here all
// clients dial at once.
func (b *built) outspoken() *plan.Plan {
	p := *b.plan
	p.Netns = slices.Clone(p.Netns)
	for i := range p.Netns {
		n := &p.Netns[i]
		if n.Kind == plan.Node {
			continue
		}
		n.Sysctls = append(slices.Clone(n.Sysctls), plan.Sysctl{Key: "net.ipv4.icmp_ratelimit", Value: "0"})
		if n.IPv6 {
			n.Sysctls = append(n.Sysctls, plan.Sysctl{Key: "net.ipv6.icmp.ratelimit", Value: "0"})
		}
	}
	p.Sort()
	return &p
}

func skipUnsupported(t *testing.T, err error) {
	t.Helper()
	var lacks *engine.UnsupportedError
	if errors.As(err, &lacks) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
