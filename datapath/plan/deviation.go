package plan

// Deviation is where a namespace differs from what follows from its plan without being in
// it: a connected route is missing, there is a routing rule that nobody planned, a link does
// not forward. It is only in what is read from the kernel.
type Deviation struct {
	What  string // route 10.244.1.0/24 dev cni0 src 10.244.1.1
	Wrong string // missing; not in the plan; is off, want on
	// Foreign says that somebody added it, rather than changed or removed what the kernel has
	// by itself.
	Foreign bool
	Command string // that puts it right, for a shell
	// Repair are the requests that put it right, one after the other.
	Repair []Request
}

// Request is one request to the kernel: a netlink message, a setting, a program that knows how, or
// the end of multicast routing in an address family.
type Request struct {
	Argv    []string // a program
	Family  int      // of netlink
	Message []byte
	Sysctl  Sysctl

	MulticastRouting int
}

// The ways in which something is wrong.
const (
	Missing   = "missing"
	Unplanned = "not in the plan"
)

func (d *Deviation) write(w *textWriter, _ *Step) { w.linef("%s", d.Command) }
