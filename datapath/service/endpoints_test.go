package service

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netlab/netlab/topology"
)

// Hints follow the state of an endpoint: z=east,west for zones, n=a for nodes. The
// node in question is a, in zone east.
func TestHintsKeepTrafficNear(t *testing.T) {
	for _, row := range []struct {
		name      string
		endpoints string
		cluster   string
	}{
		{"no hints", "a1:r b1:r c1:r", "a1 b1 c1"},
		{"zone", "a1:r:z=east b1:r:z=east c1:r:z=west", "a1 b1"},
		{"an endpoint may serve several zones", "a1:r:z=west b1:r:z=west,east", "b1"},
		{"one without a hint turns them off", "a1:r:z=east b1:r c1:r:z=west", "a1 b1 c1"},
		{"one that is not ready need not have any", "a1:r:z=east b1:n c1:r:z=west", "a1"},
		{"none for this zone", "b1:r:z=west c1:r:z=west", "b1 c1"},
		{"node", "a1:r:n=a:z=east b1:r:n=b:z=east", "a1"},
		{"node and zone, none for this node", "b1:r:n=b:z=east c1:r:n=c:z=west", "b1"},
		{"nodes only, none for this node", "b1:r:n=b c1:r:n=c", "b1 c1"},
		{"one without a node hint: zones apply", "a1:r:n=a:z=east b1:r:z=east c1:r:n=c:z=west", "a1 b1"},
		{"hints of terminating ones do not count", "a1:s:z=west b1:s:z=east", "a1 b1"},
		{"hinted away from a local one", "a1:r:z=west b1:r:z=east", "b1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			list := hintedEndpoints(row.endpoints)
			p := newPort(&topology.Service{}, &topology.ServicePort{Endpoints: list}, netip.MustParseAddr("10.96.0.1"), &topology.Node{Name: "a", Zone: "east"})
			if got := names(p.Cluster); got != row.cluster {
				t.Errorf("got %q, want %q", got, row.cluster)
			}
		})
	}
}

func hintedEndpoints(text string) []*topology.Endpoint {
	fields := strings.Fields(text)
	bare := make([]string, 0, len(fields))
	for _, f := range fields {
		bare = append(bare, strings.Join(strings.SplitN(f, ":", 3)[:2], ":"))
	}
	list := endpoints(strings.Join(bare, " "))
	for i, f := range fields {
		for _, hint := range strings.Split(f, ":")[2:] {
			kind, places, _ := strings.Cut(hint, "=")
			if kind == "z" {
				list[i].ForZones = strings.Split(places, ",")
			} else {
				list[i].ForNodes = strings.Split(places, ",")
			}
		}
	}
	return list
}

func TestHintsDoNotCountUnderPolicyLocal(t *testing.T) {
	svc := &topology.Service{InternalTrafficPolicy: topology.PolicyLocal}
	p := newPort(svc, &topology.ServicePort{Endpoints: hintedEndpoints("a1:r:z=west b1:r:z=east")},
		netip.MustParseAddr("10.96.0.1"), &topology.Node{Name: "a", Zone: "east"})
	if got := names(p.Local); got != "a1" {
		t.Errorf("got %q", got)
	}
}

func TestANodeWithoutZoneUsesAll(t *testing.T) {
	p := newPort(&topology.Service{}, &topology.ServicePort{Endpoints: hintedEndpoints("a1:r:z=west b1:r:z=east")},
		netip.MustParseAddr("10.96.0.1"), &topology.Node{Name: "a"})
	if got := names(p.Cluster); got != "a1 b1" {
		t.Errorf("got %q", got)
	}
}
