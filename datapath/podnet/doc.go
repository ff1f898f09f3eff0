// Package podnet turns a lab into the pod network of its nodes: everything that
// exists before the first service.
//
// Each mode, one folder each, says how packets get from one node to the next; its
// doc.go walks a packet through it. What the modes share is here: the underlay,
// which joins the nodes (underlay.go), routers, nodes and clients on it (router.go, host.go), the bridge of a node and
// its pods (bridge.go), masquerade and forwarding (masquerade.go), host ports (portmap.go), Docker on the same node (docker.go).
//
// The package knows neither services nor the kernel. To add a mode: a folder with
// an essay, facts and a Compile, a line in the catalogue of package datapath, a lab in its
// labs_test.go, and a scenario.
package podnet
