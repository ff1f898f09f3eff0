// Package request is what an HTTP request and its response say on paper, beside where they go: what
// an agent sees of a request and answers, and what an ingress controller makes of both, with the
// filters of a route.
//
// The filters themselves are those of package httproute, which running controllers apply. The
// package knows neither packets nor rules.
package request
