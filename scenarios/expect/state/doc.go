// Package state is the claims of an expectation about more than how connections end: what is in
// the rules, links and routes of a host, what connection tracking and a link know of each
// connection, and what a command prints.
//
// A claim sees views (view.go): one of what does not depend on connections, else one for each
// connection that was made or, on paper, for each path that it can take. It must hold in all of
// them. It does not know whether paper or the kernel brought them: the same code judges both.
// Each kind of claim is a file. Start reading at claim.go, then rules.go.
package state
