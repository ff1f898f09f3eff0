// Package routing adds and deletes addresses and routes, and reads them back with the routing
// rules. Start at read.go. Which routes the kernel adds with an address is in addresses.go: they
// have to be there, though no plan lists them.
package routing
