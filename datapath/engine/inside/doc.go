// Package inside owns what runs in the namespaces of a lab, which is processes and sockets and
// not kernel state: agents, the programs of pods, user-space tunnels and proxies, BGP
// speakers, name servers, the Kubernetes API, and the commands of users. It does not know
// who asked for it: plans come from the engine, and namespaces from the kernel package,
// whose hooks it has.
//
// Start at lab.go, with what happens when a namespace is ready, changes and goes. A program
// of the scenario is looked for in prepare.go, set up in cell.go, confined by package cell,
// lives in program.go, is waited for in ready.go, and what it writes is kept in output.go. A
// command of a user starts in command.go. The rest has a file each: images.go, names.go,
// proxy.go, speaker.go, tunnel.go, api.go. furnish.go and processes.go prepare and tidy the
// engine's own mount and PID namespaces for them all.
package inside
