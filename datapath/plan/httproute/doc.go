// Package httproute is the vocabulary of HTTP routing: which hosts and paths lead to which
// endpoints (route.go), and which route a request takes (table.go).
//
// A running ingress controller and the prediction of a request on paper use the same Table, so
// that they cannot disagree about what is in it. The package knows neither where routes come
// from nor how requests are sent.
package httproute
