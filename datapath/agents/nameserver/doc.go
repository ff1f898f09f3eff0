// Package nameserver answers DNS queries from records, over UDP and TCP (server.go), and asks
// name servers as the resolver of a host does (ask.go).
//
// A Server has an index of records (plan/zone) that changes while it runs. It is authoritative
// for the root and asks nobody: what it does not have does not exist. It uses sockets that
// were opened for it, so it knows neither network namespaces nor labs.
//
// Messages are those of github.com/miekg/dns.
package nameserver
