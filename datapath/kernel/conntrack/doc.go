// Package conntrack ends connections that new rules would not stop: it selects the entries of
// connection tracking that are stale or denied, and deletes them.
package conntrack
