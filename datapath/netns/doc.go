// Package netns creates, opens and enters network namespaces.
//
// A network namespace belongs to an OS thread, not to a goroutine. This is the only
// package that locks threads: a thread that entered another namespace is never
// unlocked, so that the Go scheduler cannot run unrelated code on it. Work inside a
// namespace goes through NS.Do, or through a Thread if many namespaces are visited in a
// row (setns costs about a microsecond, a thread about thirty).
//
// The package knows nothing of plans and labs.
package netns
