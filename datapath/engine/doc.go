// Package engine runs labs. A running lab is one process, the engine, inside fresh user
// (when not root), mount, PID and network namespaces; it creates all other network
// namespaces inside and holds them by descriptor. When it ends, for whatever reason,
// the kernel removes everything: no clean-up is needed.
//
// The parent side is Start (start.go), Connect and List (state.go) and the methods of
// Client (client.go). The program that uses them must call Main first: the engine is
// the same program, re-executed. The child side starts in child.go and answers requests
// in serve.go; apply.go makes the lab equal to a plan, rest.go checks what a change did
// not touch; exec.go runs the user's commands. What runs in the namespaces is owned by
// package inside.
//
// A lab that outlives its creator has a folder in the state directory with its control
// socket. It is locked as long as the engine lives; a second small process, the
// janitor, waits for that lock and removes the folder if the engine did not. All other
// commands also remove unlocked folders.
package engine
