// Package felix writes names and comments as Felix does, Calico's agent on every node: whoever
// knows them from a cluster finds the same in a lab, and iptables-save and ipset list read the
// same for the same policies.
//
// It knows neither policies nor pod networks. names.go has the names of chains and sets, sign.go
// the comment by which Felix recognises a rule, words.go the text of a rule that goes into it.
package felix
