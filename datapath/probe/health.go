package probe

import "fmt"

// Health is what an agent reports about the endpoints of a service on its node, as
// kube-proxy does on a health check node port (kubernetes/pkg/proxy/healthcheck): to
// any HTTP request, whatever its path.
type Health struct {
	Namespace      string
	Service        string
	LocalEndpoints int
}

// appendResponse appends the response to r: 200 if the node has an endpoint, else 503,
// so that a load balancer avoids the node.
func (h *Health) appendResponse(b []byte, r request) []byte {
	status := "200 OK"
	if h.LocalEndpoints == 0 {
		status = "503 Service Unavailable"
	}
	b = fmt.Appendf(b, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff\r\n"+
		"X-Load-Balancing-Endpoint-Weight: %d\r\n", status, h.LocalEndpoints)
	return r.appendBody(b, fmt.Appendf(nil, "{\n\t\"service\": {\n\t\t\"namespace\": %q,\n\t\t\"name\": %q\n\t},\n"+
		"\t\"localEndpoints\": %d,\n\t\"serviceProxyHealthy\": true\n}", h.Namespace, h.Service, h.LocalEndpoints))
}
