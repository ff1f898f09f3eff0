// Package occupant is the vocabulary of what runs inside a namespace as long as its lab does:
// agents, which answer the probes of expectations (agent.go), programs of a scenario
// (program.go), tunnels in user space and WireGuard (tunnel.go, wireguard.go), the sockets of
// a proxy (proxyport.go), what programs find in resolv.conf (resolver.go), and the files of pods
// without a program (podfiles.go).
//
// The package describes them; package engine runs them.
package occupant
