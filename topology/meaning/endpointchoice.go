package meaning

import (
	"slices"

	"github.com/netlab/netlab/topology"
)

// clusterEndpoints are those that a node uses under policy Cluster: all that are
// ready, narrowed by topology hints; if none is ready, all that serve while they
// terminate, without hints.
func (u *use) clusterEndpoints(n *topology.Node) []*topology.Endpoint {
	all := u.endpoints(nil)
	if slices.ContainsFunc(all, func(e *topology.Endpoint) bool { return !e.Ready }) {
		return all // the fallback for ready ones
	}
	for _, hint := range []struct {
		place string
		of    func(*topology.Endpoint) []string
	}{
		{n.Name, func(e *topology.Endpoint) []string { return e.ForNodes }},
		{n.Zone, func(e *topology.Endpoint) []string { return e.ForZones }},
	} {
		var near []*topology.Endpoint
		complete := true // one endpoint without a hint turns all hints off: no node would use it
		for _, e := range all {
			complete = complete && len(hint.of(e)) > 0
			if hint.place != "" && slices.Contains(hint.of(e), hint.place) {
				near = append(near, e)
			}
		}
		if complete && len(near) > 0 {
			return near
		}
	}
	return all
}

// endpoints are those of a node, or of all nodes, that get traffic: the ready ones,
// and if there is none, those that serve while they terminate. For one node, what
// exists elsewhere does not matter.
func (u *use) endpoints(on *topology.Node) []*topology.Endpoint {
	var ready, leaving []*topology.Endpoint
	for _, e := range u.port.Endpoints {
		switch {
		case e.Addr.Addr().Is6() != u.six || on != nil && e.Node != on.Name:
		case e.Ready:
			ready = append(ready, e)
		case e.Serving && e.Terminating:
			leaving = append(leaving, e)
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return leaving
}
