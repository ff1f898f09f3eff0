// Package socket speaks netlink: sockets that send many messages at once, messages built
// and read attribute by attribute, and nf_tables transactions. The content of messages is
// up to its callers.
package socket
