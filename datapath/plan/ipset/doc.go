// Package ipset is the vocabulary of ipsets in plans: sets with their members, and the
// commands that change them, both printed for ipset restore and sent to the kernel.
package ipset
