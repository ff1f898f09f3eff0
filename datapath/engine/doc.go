// Package engine runs labs. A running lab is one process, the engine, inside fresh user
// (when not root), mount, PID and network namespaces; it creates all other network
// namespaces inside and holds them by descriptor. When it ends, for whatever reason,
// the kernel removes everything: no clean-up is needed.
//
// The parent side is Start (start.go), Connect and List (state.go) and the methods of
// Client (client.go). The program that uses them must call Main first: the engine is
// the same program, re-executed. The child side starts in child.go and answers requests
// in serve.go; apply.go makes the lab equal to a plan, rest.go checks what a change did
// not touch; agents.go holds the sockets and programs inside the lab, tunnel.go
// its user-space tunnels, speaker.go its BGP speakers, api.go its Kubernetes API; exec.go runs the
// user's commands. A program of the scenario is set up in cell.go, confined by package cell, lives in program.go, is
// waited for in ready.go, and what it writes is kept in output.go.
//
// A lab that outlives its creator has a folder in the state directory with its control
// socket. It is locked as long as the engine lives; a second small process, the
// janitor, waits for that lock and removes the folder if the engine did not. All other
// commands also remove unlocked folders.
package engine
