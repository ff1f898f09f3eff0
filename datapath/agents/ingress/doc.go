// Package ingress is an ingress controller: it takes HTTP requests and passes each on to an
// endpoint, by its host and path (controller.go), over TLS too, with certificates of an
// authority of its own (authority.go).
//
// The Table of routes (plan/httproute) changes while a controller runs. It connects to the
// addresses of endpoints and to no others, whatever a request says: up to three of them, if the
// first does not take the connection. Each request gets a connection of its own, so that claims
// about connections hold. What comes with the request in X-Forwarded-… is replaced, as
// ingress-nginx does: the client is who has made the connection, or for whom a load balancer
// says that it has, by the PROXY protocol (haproxy.org, doc/proxy-protocol.txt).
//
// Requests are passed on by net/http/httputil; the PROXY protocol is that of
// github.com/pires/go-proxyproto. The package knows neither network namespaces nor labs.
package ingress
