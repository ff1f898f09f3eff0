package zone

import (
	"slices"
	"strings"
	"testing"
)

func records() []Record {
	return []Record{
		{Name: "web.default.svc.cluster.local", Type: A, Value: "10.96.0.1"},
		{Name: "web.default.svc.cluster.local", Type: AAAA, Value: "fd00::1"},
		{Name: "_http._tcp.web.default.svc.cluster.local", Type: SRV, Value: "web.default.svc.cluster.local", Port: 80, Weight: 100},
		{Name: "alias.default.svc.cluster.local", Type: CNAME, Value: "web.default.svc.cluster.local"},
		{Name: "lost.default.svc.cluster.local", Type: CNAME, Value: "nowhere.example.com"},
		{Name: "round.default.svc.cluster.local", Type: CNAME, Value: "about.default.svc.cluster.local"},
		{Name: "cluster.local", Type: NS, Value: "web.default.svc.cluster.local"},
		{Name: "cluster.local", Type: SOA, Value: "ns.dns.cluster.local"},
		{Name: "about.default.svc.cluster.local", Type: CNAME, Value: "round.default.svc.cluster.local"},
	}
}

func TestAnswers(t *testing.T) {
	x := NewIndex(records())
	for _, row := range []struct {
		name    string
		of      Type
		want    string
		missing bool
	}{
		{"web.default.svc.cluster.local", A, "10.96.0.1", false},
		{"WEB.default.svc.Cluster.Local.", A, "10.96.0.1", false},
		{"web.default.svc.cluster.local", AAAA, "fd00::1", false},
		{"web.default.svc.cluster.local", TXT, "", false},
		{"alias.default.svc.cluster.local", A, "web.default.svc.cluster.local 10.96.0.1", false},
		{"alias.default.svc.cluster.local", CNAME, "web.default.svc.cluster.local", false},
		{"lost.default.svc.cluster.local", A, "nowhere.example.com", true},
		{"default.svc.cluster.local", A, "", false}, // others are below it
		{"_tcp.web.default.svc.cluster.local", A, "", false},
		{"nobody.default.svc.cluster.local", A, "", true},
		{"x.web.default.svc.cluster.local", A, "", true},
		{"", A, "", false},
	} {
		a := x.Answer(row.name, row.of)
		var got []string
		for _, r := range a.Records {
			got = append(got, r.Value)
		}
		if text := strings.Join(got, " "); text != row.want || a.Missing != row.missing {
			t.Errorf("%s %s: %q, missing %v; want %q, %v", row.name, row.of, text, a.Missing, row.want, row.missing)
		}
	}
	for name, of := range map[string]Type{"_http._tcp.web.default.svc.cluster.local": SRV, "cluster.local": NS} {
		if a := x.Answer(name, of); len(a.Records) != 1 || len(a.More) != 2 {
			t.Errorf("%s %s: %v with %v, want one record and both addresses", name, of, a.Records, a.More)
		}
	}
	for name, want := range map[string]string{"cluster.local": "cluster.local", "nobody.svc.Cluster.local": "cluster.local", "mycluster.local": "", "local": "", "": "", "lost.default.svc.cluster.local": ""} {
		got := ""
		if z := x.Answer(name, A).Zone; z != nil {
			got = z.Name
		}
		if got != want {
			t.Errorf("%q is in zone %q, want %q", name, got, want)
		}
	}
	if n := len(x.Answer("round.default.svc.cluster.local", A).Records); n == 0 || n > maxAliases {
		t.Errorf("a circle of aliases has %d records", n)
	}
}

func TestAnIndexIsEmptyWhenAllIsRemoved(t *testing.T) {
	x := &Index{}
	for range 2 {
		x.Add(records())
		x.Remove([]Record{{Name: "nobody", Type: A, Value: "10.0.0.1"}})
		for _, r := range records() {
			if a := x.Answer(r.Name, r.Type); len(a.Records) == 0 {
				t.Errorf("%s %s is missing", r.Name, r.Type)
			}
			x.Remove([]Record{r})
		}
		if !x.Empty() || len(x.inner) > 0 {
			t.Errorf("left: %v, %v", x.records, x.inner)
		}
	}
}

func TestCandidates(t *testing.T) {
	search := []string{"prod.svc.cluster.local", "svc.cluster.local", "."}
	for _, row := range []struct{ ndots, name, want string }{
		{"5", "web", "web.prod.svc.cluster.local web.svc.cluster.local web web"},
		{"5", "Web.Prod", "web.prod.prod.svc.cluster.local web.prod.svc.cluster.local web.prod web.prod"},
		{"1", "web.prod", "web.prod web.prod.prod.svc.cluster.local web.prod.svc.cluster.local web.prod"},
		{"", "web.prod", "web.prod web.prod.prod.svc.cluster.local web.prod.svc.cluster.local web.prod"},
		{"5", "web.", "web"},
		{"99", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p", "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p"}, // 15 at most
	} {
		r := Resolver{Search: search}
		if row.ndots != "" {
			r.Options = []Option{{"ndots", row.ndots}}
		}
		got := r.Candidates(row.name)
		if want := strings.Fields(row.want); !slices.Equal(got[:min(len(want), len(got))], want) || len(want) > 1 && len(got) != len(want) {
			t.Errorf("ndots %q, %s: %v, want %v", row.ndots, row.name, got, want)
		}
	}
}
