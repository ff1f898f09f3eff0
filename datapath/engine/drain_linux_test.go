package engine

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/kernel/features"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/datapath/plan/ipvs"
)

// served is a namespace whose own server is behind a virtual server:
//
//	10.96.0.10:80 ── 10.0.0.2:80 (both on d0)
func served(reals ...ipvs.Real) *plan.Plan {
	p := &plan.Plan{Lab: "served", Netns: []plan.Netns{{Name: "node.a", Kind: plan.Node,
		Links:   []plan.Link{{Name: "d0", Type: plan.Dummy, MTU: 1500, MAC: [6]byte{2, 0, 0, 0, 0, 1}}},
		Addrs:   []plan.Addr{{Link: "d0", Prefix: netip.MustParsePrefix("10.96.0.10/32")}, {Link: "d0", Prefix: netip.MustParsePrefix("10.0.0.2/32")}},
		Virtual: []ipvs.Server{{Addr: netip.MustParseAddrPort("10.96.0.10:80"), Proto: "tcp", Scheduler: "rr", Real: reals}},
	}}}
	p.Sort()
	return p
}

// The engine itself deletes a real server removed from the plan, some time after its
// last connection has ended, and reports it until then.
func TestTheEngineDrainsRealServers(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for f, err := range features.Missing(ctx, []feature.Feature{feature.IPVS, feature.Dummy}) {
		t.Skipf("this kernel lacks %s: %v", f, err)
	}
	e, err := newEngine(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.reapEvery = 50 * time.Millisecond
	defer e.kernel.Close("")
	apply := func(p *plan.Plan) {
		t.Helper()
		e.mu.Lock()
		defer e.mu.Unlock()
		if _, err := e.kernel.Apply(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	apply(served(ipvs.Real{Addr: netip.MustParseAddrPort("10.0.0.2:80"), Weight: 1}))
	ns, err := e.kernel.Namespace("node.a")
	if err != nil {
		t.Fatal(err)
	}
	var c net.Conn
	err = ns.Do(func() error {
		l, err := net.Listen("tcp", "10.0.0.2:80")
		if err != nil {
			return err
		}
		t.Cleanup(func() { l.Close() })
		c, err = net.DialTimeout("tcp", "10.96.0.10:80", 10*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	apply(served())
	go e.drain(ctx)
	if l := e.info().Info.Draining; len(l) != 1 || l[0].Real != "10.0.0.2:80" || l[0].Active != 1 {
		t.Fatalf("draining: %+v", l)
	}
	_ = c.(*net.TCPConn).SetLinger(0) // IPVS forgets it after ten seconds
	c.Close()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		e.mu.Lock()
		left := e.kernel.Draining()
		e.mu.Unlock()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still draining: %+v", left)
		}
	}
}
