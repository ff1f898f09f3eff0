// Package settings finds sysctls that decide what happens to packets and are neither as planned
// nor those of a new network namespace: of links (OfLink), of how they ask for neighbours
// (Resolution), and of the namespace (Read). Package procfs reads and writes single ones.
package settings
