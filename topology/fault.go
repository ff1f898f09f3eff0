package topology

// FaultKind is a way in which a network breaks: its name in scenarios, and what it does.
type FaultKind struct {
	Name  string
	About string // what is wrong then, in one clause
	// Towards says that the kind is about the way to one other node.
	Towards bool
	// Port says that the kind is about a port.
	Port bool
}

// Fault is something that is broken on purpose, for as long as its expectations are tried.
type Fault struct {
	Name     string
	Kind     FaultKind
	Node     *Node // where it is
	Towards  *Node // the node to which the way is broken; nil: not about one
	Protocol Protocol
	Port     uint16
	Origin   Origin
}
