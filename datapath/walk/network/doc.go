// Package network is a plan as packets find it: hosts with their links, routing tables,
// neighbours, sysctls, chains and sets, each indexed when the first packet asks for it.
// It knows no packets. Start reading at world.go, then host.go.
package network
