// Package topology says what a lab is: nodes, pods, clients, services and the
// addresses between them.
//
// Spec is the lab as written, Lab is the lab as resolved. Resolve turns the one
// into the other; it is pure, and after it nothing is optional, nothing is
// defaulted again and every address, MAC, VNI and port is decided.
//
// Reach says what comes of a connection in a Lab by the meaning of services and of
// the pod network. It knows no rules: rules are judged by it. journey.go follows the
// packet, proxied.go is what a node does for services, choice.go picks endpoints and
// ways.go knows the routes.
//
// Allowed says what network policies mean for a connection, and why: allowed.go.
// Where the API leaves something open, labs are like this. Protocols without ports
// follow the rules without ports. A pod reaches itself and, unless host_egress is
// "enforce", its own node. A pod on the host's network is its node: no policy is about
// it and no selector finds it as a peer; blocks of addresses do. Of admin policies of
// one priority the first by name counts. Reach asks Allowed at each node on the way.
//
// The package knows nothing of HCL, of the kernel or of rules, and imports the
// standard library only. Start reading at spec.go, then lab.go, then resolve.go;
// Reach begins in verdict.go.
package topology
