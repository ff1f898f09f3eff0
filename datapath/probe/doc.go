// Package probe sends real packets: a Server answers on the listening sockets of all
// agents of a lab, Dial connects to them, and returns the results as
// flow.Observation.
//
// Both are one epoll loop over raw sockets. A socket stays in the network
// namespace in which it was created, wherever the thread that uses it goes, so
// an agent costs one descriptor per port: no process, no goroutine, no thread.
//
// # Protocol
//
// An agent reports its identity and the client that it saw, in one line of JSON:
//
//	{"name":"web-0","node":"node1","proto":"tcp","local":"10.244.1.2:8080","peer":"192.168.0.100:40322","ttl":63}
//
// name and node are the agent's, node is empty outside the cluster; local is the
// server's address, after all translation, peer the client's address, and ttl the TTL
// or hop limit with which its first packet arrived, if the kernel reports it. Over HTTP there is
// also the client that a proxy names in X-Forwarded-For, as "forwarded", and the request as it
// arrived, as "asked": its host, path and header fields.
//
// Over TCP:
//
//   - each line that arrives is answered with the line, for as long as the peer
//     keeps the connection: a long-lived connection shows that it survives;
//   - a peer that says nothing for 150 ms gets the line unasked, and one that
//     closes its side gets it at once if it got none before: "nc web-0 8080"
//     prints it;
//   - a request line of HTTP/1 is answered as HTTP, with the line as body, or, by an
//     agent that is a health check node port, as kube-proxy does; requests over TLS are made
//     by whoever has the certificates, who leaves the response to Request;
//   - the agent closes when the peer has closed, or after ten minutes without a
//     line.
//
// Over UDP each datagram is answered with the line, from the address to which it was
// sent (IP_PKTINFO, ip(7)). A datagram that is itself such a line is not answered, or
// two agents could keep each other busy forever.
//
// Over UDP or TCP, a program that is not an agent answers as it pleases, or not at all. What
// it would say as an agent is known all the same: see witness_linux.go.
//
// A connection of the Server is reset, not closed gracefully, when its agent is removed
// or the process dies: an orphaned connection in FIN_WAIT would keep its network
// namespace alive for a minute (tcp_fin_timeout, ip-sysctl.rst).
//
// The package knows nothing of labs and plans. Start reading at answer.go, then
// server_linux.go and dialer_linux.go.
package probe
