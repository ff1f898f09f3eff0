// Package xtables runs iptables and ip6tables in network namespaces, and reads their tables and
// counters back with iptables-save. apply.go restores tables, read.go parses them; accounts.go
// makes the accounting objects that rules name, and legacy.go finds rules of iptables-legacy,
// which the kernel follows beside those of nf_tables.
package xtables
