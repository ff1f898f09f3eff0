package topology

import "slices"

// clusterEndpoints are those that a node uses under policy Cluster: all that are
// ready, as far as hints do not keep traffic near; if none is ready, all that serve
// while they terminate, without hints.
func (u *use) clusterEndpoints(n *Node) []*Endpoint {
	all := u.endpoints(nil)
	if slices.ContainsFunc(all, func(e *Endpoint) bool { return !e.Ready }) {
		return all // what steps in for ready ones
	}
	for _, hint := range []struct {
		place string
		of    func(*Endpoint) []string
	}{
		{n.Name, func(e *Endpoint) []string { return e.ForNodes }},
		{n.Zone, func(e *Endpoint) []string { return e.ForZones }},
	} {
		var near []*Endpoint
		complete := true // one without a hint turns all off: nobody would use it
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
// and if there is none, those that serve while they terminate. On a node that does
// not depend on what there is elsewhere.
func (u *use) endpoints(on *Node) []*Endpoint {
	var ready, leaving []*Endpoint
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
