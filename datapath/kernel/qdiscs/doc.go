// Package qdiscs delays, loses and limits the packets of links, as messages to queueing
// disciplines, and reads back what shapes them.
package qdiscs
