//go:build linux

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/nft"
	"github.com/netlab/netlab/topology"
)

// proxy is a proxy mode in one of its layouts.
type proxy struct {
	mode   topology.ProxyMode
	layout string // "": the mode's own
}

func (p proxy) String() string { return strings.TrimSpace(p.mode.Name + " " + p.layout) }

// proxyModes are all modes that translate, and the layouts of those after the first.
func proxyModes() (list []proxy) {
	for _, m := range datapath.Catalogue().Proxies {
		if !m.Translates {
			continue
		}
		list = append(list, proxy{mode: m})
		if len(list) > 1 && len(m.Layouts) > 0 {
			for _, l := range m.Layouts[1:] {
				list = append(list, proxy{m, l.Name})
			}
		}
	}
	return list
}

// portsOfUserSpace is how many services a proxy in user space can have a port for.
const portsOfUserSpace = 10000

// proxies compares the proxy modes with the first one: programming many services, changing an
// endpoint of one, and connections through the last of them; and that with a connection where
// there is only one service. A mode that this kernel lacks gets one row that says so.
func proxies(ctx context.Context, o Options) ([]Row, error) {
	modes := proxyModes()
	few := map[string]time.Duration{}
	var rows []Row
	for _, n := range []int{1, 1000, 10000} {
		samples := map[string][]round{}
		for i, p := range modes {
			if p.mode.UserSpace && n >= portsOfUserSpace {
				continue
			}
			o.Progress(fmt.Sprintf("%d services × 3 endpoints, proxy mode %s", n, p))
			got, err := compare(o.Rounds, nil, func() (sample, error) { return throughLast(ctx, p, n) })
			var lacks *engine.UnsupportedError
			if i > 0 && errors.As(err, &lacks) {
				if n == 1 {
					rows = append(rows, Row{What: "proxy mode " + p.String(), Got: "not here: netlab vm exec -- netlab bench --only proxies --rounds 1", OK: true})
				}
				continue
			}
			if err != nil {
				return rows, err
			}
			samples[p.String()] = got
		}
		rows = append(rows, besideFirst(modes, n, samples, few)...)
	}
	for _, measure := range []func(context.Context, Options, int) ([]Row, error){besideNFT, besideMaps} {
		more, err := measure(ctx, o, 10000)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// besideFirst are the rows of a number of services. few has the connections with one service,
// which that number fills in.
func besideFirst(modes []proxy, n int, samples map[string][]round, few map[string]time.Duration) (rows []Row) {
	connection := func(s sample) time.Duration { return s.connection }
	first := modes[0].String()
	for _, p := range modes {
		got := samples[p.String()]
		if got == nil {
			continue
		}
		through, _, _ := medians(got, connection)
		if n == 1 {
			few[p.String()] = through
			if p.String() != first {
				rows = append(rows, throughputRow(p, got, samples[first]))
			}
			continue
		}
		row := func(what string, of func(sample) time.Duration, text func(time.Duration) string) {
			ours, _, _ := medians(got, of)
			others, _, _ := medians(samples[first], of)
			rows = append(rows, Row{What: what + ", " + p.String() + " against " + first, Netlab: text(ours), Floor: text(others),
				Got: fmt.Sprintf("%.2f ×", float64(ours)/float64(others)), OK: true})
		}
		if p.String() != first {
			row(fmt.Sprintf("%d services × 3 endpoints", n), up, milliseconds)
			row(fmt.Sprintf("one endpoint of %d services changes", n), edit, milliseconds)
			rows = append(rows, beyondRow(p, n, got))
			row(fmt.Sprintf("a connection through the last of %d services", n), connection, microseconds)
		}
		rows = append(rows, Row{What: fmt.Sprintf("a connection through the last of %d services, %s, against one service", n, p), Netlab: microseconds(through),
			Floor: microseconds(few[p.String()]), Got: fmt.Sprintf("%.2f ×", float64(through)/float64(few[p.String()])), OK: true})
	}
	return rows
}

// beyondRow is what a change costs that up without one does not. In kube-proxy's layout the kernel
// alone takes longer than any goal: it follows all verdicts from all base chains.
func beyondRow(p proxy, n int, list []round) Row {
	same, _, _ := medians(list, func(s sample) time.Duration { return s.same })
	ours, _, _ := medians(list, edit)
	row := Row{What: fmt.Sprintf("one endpoint of %d services changes, %s, beyond up without a change", n, p), Netlab: milliseconds(ours), Floor: milliseconds(same),
		Got: fmt.Sprintf("%.1f ms", (ours-same).Seconds()*1000), OK: true}
	if p.layout != "" {
		row.Goal, row.OK = "≤ 2 ms", ours-same <= 2*time.Millisecond
	}
	return row
}

// throughputRow compares uploads through a service. What articles say of user space has no number.
func throughputRow(p proxy, got, first []round) Row {
	of := func(r round) uint64 { return r.netlab.throughput }
	ours, others := median(got, of), median(first, of)
	what := fmt.Sprintf("throughput through a service, %s against %s", p, proxyModes()[0])
	if p.mode.UserSpace {
		what += " (articles: given up for modes in the kernel)"
	}
	return Row{What: what, Netlab: rate(ours), Floor: rate(others), Got: fmt.Sprintf("%.2f ×", float64(ours)/float64(others)), OK: true}
}

// throughLast times a proxy mode: to program all services, to change one endpoint, and
// for one connection through the last service, from the node itself.
func throughLast(ctx context.Context, p proxy, n int) (got sample, err error) {
	lab, before, err := compile(servicesBy(p, n, 0))
	if err != nil {
		return got, err
	}
	_, after, err := compile(servicesBy(p, n, 1))
	if err != nil {
		return got, err
	}
	running, err := engine.Start(ctx, "")
	if err != nil {
		return got, err
	}
	defer running.Abandon()
	started := time.Now()
	if err := apply(ctx, running, before); err != nil {
		return got, err
	}
	got.up = time.Since(started)
	got.connection, err = connect(ctx, running, flow.Flow{From: lab.Nodes[0].Netns(), To: lastService(lab), Within: 10 * time.Second}, 3)
	if err != nil {
		return got, fmt.Errorf("%s, %d services: the last one: %w", p, n, err)
	}
	if n == 1 {
		sent, err := one(ctx, running, flow.Flow{From: lab.Nodes[0].Netns(), To: lastService(lab)}, false)
		if err != nil {
			return got, fmt.Errorf("%s: %w", p, err)
		}
		got.throughput = sent.rate
	}
	got.same, got.edit, err = changed(ctx, running, before, after)
	return got, err
}

// changed times up without a change, and with one: the fastest of some, to and fro.
func changed(ctx context.Context, running *engine.Client, now, next *plan.Plan) (same, edit time.Duration, err error) {
	timed := func(p *plan.Plan, least *time.Duration) {
		started := time.Now()
		if err == nil {
			err = apply(ctx, running, p)
		}
		if took := time.Since(started); *least == 0 || took < *least {
			*least = took
		}
	}
	for range 6 {
		timed(now, &same)
		timed(next, &edit)
		now, next = next, now
	}
	return same, edit, err
}

// servicesBy is manyServices by a proxy mode, and one more with a pod that answers.
func servicesBy(p proxy, n, variant int) *topology.Spec {
	spec := manyServices(n, variant)
	spec.Proxy.Mode = set(p.mode.Name)
	if p.layout != "" {
		*spec.Proxy.Layout(p.mode.Name) = set(p.layout)
	}
	withPod(spec)
	return spec
}

// besideNFT compares the modes whose rules are nf_tables with the program nft, which loads the
// same text into an empty network namespace.
func besideNFT(ctx context.Context, o Options, n int) (rows []Row, err error) {
	for _, p := range proxyModes() {
		_, want, err := compile(servicesBy(p, n, 0))
		if err != nil {
			return rows, err
		}
		text := rulesetOf(want)
		if text == nil {
			continue
		}
		file, err := os.CreateTemp("", "netlab-bench-*.nft")
		if err != nil {
			return rows, err
		}
		defer os.Remove(file.Name())
		if _, err = file.Write(text); err != nil {
			return rows, err
		}
		file.Close()
		o.Progress(fmt.Sprintf("%d services × 3 endpoints, %s, by nft -f", n, p))
		var list []round
		for range o.Rounds {
			var r round
			started := time.Now()
			if err := nftLoad(ctx, file.Name()); err != nil {
				return rows, err
			}
			r.floor.up = time.Since(started)
			settle()
			if r.netlab, err = throughLast(ctx, p, n); err != nil {
				return rows, err
			}
			list = append(list, r)
		}
		row := ratioRow(fmt.Sprintf("%d services × 3 endpoints, %s against nft -f", n, p), list, up, 0.1)
		if p.layout != "" { // which has no maps of chains, so nft is not slow
			row.Goal, row.OK = "", true
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// besideMaps compares what many services add to up, in layouts that have them as elements of maps,
// with a bare load of the same maps.
func besideMaps(ctx context.Context, o Options, n int) (rows []Row, err error) {
	for _, p := range proxyModes() {
		if p.layout == "" || os.Getuid() != 0 { // only root can load so much at once
			continue
		}
		lab, _, err := compile(servicesBy(p, n, 0))
		if err != nil {
			return rows, err
		}
		bare := order{Shape: Shape{Nodes: 1}}
		done, err := bare.withMaps(lab)
		defer done()
		if err != nil {
			return rows, err
		}
		o.Progress(fmt.Sprintf("%d services × 3 endpoints, %s, as bare maps", n, p))
		list, err := compare(o.Rounds, &bare, func() (sample, error) {
			few, err := throughLast(ctx, p, 2)
			if err != nil {
				return few, err
			}
			settle()
			many, err := throughLast(ctx, p, n)
			many.edit = many.up - few.up
			return many, err
		})
		if err != nil {
			return rows, err
		}
		rows = append(rows, ratioRow(fmt.Sprintf("what %d services × 3 endpoints add to up, %s against a bare load of its maps", n, p), list, edit, 1.5))
	}
	return rows, nil
}

// withMaps makes the floor load the maps of a lab's services.
func (o *order) withMaps(lab *topology.Lab) (done func(), err error) {
	if o.dir, err = os.MkdirTemp("", "netlab-bench-"); err != nil {
		return func() {}, err
	}
	done = func() { os.RemoveAll(o.dir) }
	var list []service
	for _, s := range lab.Services {
		x := service{To: netip.AddrPortFrom(s.ClusterIPs[0], s.Ports[0].Port)}
		for _, e := range s.Ports[0].Endpoints {
			x.Endpoints = append(x.Endpoints, e.Addr)
		}
		list = append(list, x)
	}
	text, err := json.Marshal(list)
	if err == nil {
		o.Maps, err = o.file("maps", string(text))
	}
	return done, err
}

// rulesetOf is the nf_tables of a plan as text; nil: there are none.
func rulesetOf(p *plan.Plan) (text []byte) {
	for i := range p.Netns {
		for _, e := range nft.Create(p.Netns[i].NFT) {
			text = e.AppendText(text, false)
		}
	}
	return text
}

// nftLoad runs nft in a new network namespace.
func nftLoad(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "nft", "-f", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft -f: %w: %.200s", err, out)
	}
	return nil
}

// withPod adds a pod and a service for it, last by name.
func withPod(spec *topology.Spec) {
	spec.Pods = append(spec.Pods, topology.PodSpec{Block: "web", Labels: map[string]string{"app": "web"},
		Ports: []topology.PortSpec{{Name: "http", Port: set(80)}}})
	spec.Services = append(spec.Services, topology.ServiceSpec{Name: "zz-last", Selector: map[string]string{"app": "web"},
		Ports: []topology.ServicePortSpec{{Name: "http", Port: set(80)}}})
}
