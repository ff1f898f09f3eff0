// Package podnet turns a lab into the pod network of its nodes: everything that
// is there before the first service.
//
// Each mode, one folder each, says how packets get from one node to the next; its
// doc.go walks a packet through it. What the modes share is here: the wire between
// the nodes (wire.go), nodes and clients on it (host.go), the bridge of a node and
// its pods (bridge.go), masquerade and forwarding (masquerade.go).
//
// The package knows neither services nor the kernel. To add a mode: a folder with
// an essay, a Compile and a golden test, and a line in the catalog of package
// datapath.
package podnet
