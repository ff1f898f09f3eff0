// Package walk follows a packet through a plan on paper.
package walk
