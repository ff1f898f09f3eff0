// Package engine runs labs. A running lab is one process, the engine, inside
// fresh user (when not root), mount, PID and network namespaces; it makes all
// other network namespaces inside and holds them by descriptor. When it ends, by
// whatever cause, the kernel removes everything: there is no cleaner to run.
//
// The parent side is Start (start.go), Connect and List (state.go) and the
// methods of Client (client.go). The program that uses them must call Main first
// thing: the engine is the same program, started again. The child side starts in
// child.go and answers requests in serve.go; apply.go makes the lab equal to a plan,
// rest.go looks at what a change did not touch; agents.go holds the sockets and
// programs inside the lab, exec.go runs what the user asks for.
//
// A lab that outlives its maker has a folder in the state directory with its
// control socket. It is locked as long as the engine lives; a second small
// process, the janitor, waits for that lock and removes the folder when the
// engine did not. All other commands also remove folders that nobody locks.
package engine
