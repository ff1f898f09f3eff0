package topology

// Dialer is the source of a connection: a pod, a node, a client or a router. One field is
// set.
type Dialer struct {
	Pod    *Pod // with host network: the same as its node
	Node   *Node
	Client *Client
	Router *Router
}

// Netns is the name of the dialer's network namespace in a plan.
func (d Dialer) Netns() string {
	switch {
	case d.Pod != nil:
		return d.Pod.Netns()
	case d.Node != nil:
		return d.Node.Netns()
	case d.Client != nil:
		return d.Client.Netns()
	case d.Router != nil:
		return d.Router.Netns()
	}
	return ""
}

// Dialers are all sources of connections in a lab: nodes, clients, routers and pods with a
// network of their own.
func (lab *Lab) Dialers() []Dialer {
	var out []Dialer
	for _, n := range lab.Nodes {
		out = append(out, Dialer{Node: n})
	}
	for _, c := range lab.Clients {
		out = append(out, Dialer{Client: c})
	}
	for _, r := range lab.Routers {
		out = append(out, Dialer{Router: r})
	}
	for _, p := range lab.Pods {
		if !p.HostNetwork {
			out = append(out, Dialer{Pod: p})
		}
	}
	return out
}
