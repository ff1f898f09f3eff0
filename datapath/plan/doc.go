// Package plan is the vocabulary of desired kernel state: network namespaces
// with their links, addresses, routes, neighbours, forwarding entries, sysctls,
// qdiscs, ipsets, iptables rules, virtual servers of IPVS and agents.
//
// A Plan is a value. Its text form (text.go) is in the words of ip, bridge, tc,
// sysctl, ipset, iptables-restore and ipvsadm, and is the same bytes on every machine. diff.go
// turns two plans into changes, which lines.go writes as commands and drift.go as
// findings; render.go and restore.go write rules as iptables-restore reads them
// and as iptables-save prints them, chunks.go in parts where one would be too long;
// requires.go says which kernel features a plan needs; codec.go carries plans
// between processes.
//
// The package knows neither scenarios nor the kernel, and imports the standard
// library only. Start reading at plan.go, then rule.go, set.go and virtual.go.
package plan
