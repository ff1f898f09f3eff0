package policytest

import (
	"testing"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/meaning"
)

// asked reports whether a case applies to a style at all.
func asked(style string, c *Case) bool { return style != "legacy" || c.Legacy != noTiers }

// Each style is tested with each case in each lab; in a short run each case in one of
// them, in turns.
func TestStylesOnPaper(t *testing.T) {
	for _, style := range enforcing() {
		for k, s := range Setups(style) {
			t.Run(style+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				s.Full = s.Full && !testing.Short()
				r := enter(t, &s)
				for i, c := range Cases() {
					if !asked(s.Style, &c) || !s.asks(k, i) || testing.Short() && i%len(Setups("")) != k {
						continue
					}
					j := r.judge(t, &c, s.planes(i+k))
					r.report(t, j, r.rightEnds(j), paper(j.plan, j.questions))
				}
			})
		}
	}
}

func TestThereAreManyCases(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Cases() {
		if names[c.Name] {
			t.Errorf("%q is asked twice", c.Name)
		}
		names[c.Name] = true
	}
	for name := range legacyFaults() {
		if !names[name] {
			t.Errorf("no case %q", name)
		}
	}
	if len(names) < 120 {
		t.Errorf("%d cases", len(names))
	}
	t.Logf("%d cases", len(names))
}

// The right answers, from the specification of policies, agree with meaning.Allowed on
// the resolved ones.
func TestConformanceAgreesWithAllowed(t *testing.T) {
	for k, s := range Setups("kube-router") {
		s.Full = true
		r := enter(t, &s)
		for i, c := range Cases() {
			if !s.asks(k, i) {
				continue
			}
			j := r.judge(t, &c, s.planes(0))
			for n := range j.questions {
				q := &j.questions[n]
				if got := r.allowedByTopology(j.lab, q); got != j.allowed[n] {
					t.Errorf("%s: %s: %s, %s %s: the tests say %v, meaning.Allowed %v", s.Name, c.Name, q.name, q.flow.Protocol, q.flow.To, j.allowed[n], got)
				}
			}
		}
	}
}

// allowedByTopology evaluates each side with the addresses that it sees.
func (r *testLab) allowedByTopology(lab *topology.Lab, q *question) bool {
	at := func(e *end) meaning.PolicyEnd { return meaning.EndAt(lab, e.addr) }
	protocol := topology.Protocol(q.flow.Protocol)
	egress := meaning.Allowed(lab, at(q.from), at(q.to), protocol, uint16(q.port))
	ingress := egress
	if q.asEgress != nil {
		to := meaning.EndAt(lab, q.asEgress.addr)
		egress = meaning.Allowed(lab, at(q.from), to, protocol, uint16(q.egressPort))
	}
	if q.asIngress != nil {
		from := meaning.PolicyEnd{Addr: q.asIngress.addr}
		ingress = meaning.Allowed(lab, from, at(q.to), protocol, uint16(q.port))
	}
	return egress.Egress.Allowed && ingress.Ingress.Allowed
}
