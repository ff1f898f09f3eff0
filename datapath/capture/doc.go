// Package capture records the packets that pass links of many network namespaces at once, and
// decodes them: what is inside tunnels, and what is around it.
//
// A packet socket on a link receives what arrives before PREROUTING, and what leaves after
// POSTROUTING and the queue (packet(7)). It needs CAP_NET_RAW in the user namespace of the network
// namespace only. The sockets are without link-layer headers, so that the devices of tunnels, which
// have none, are like all others. ARP, neighbour discovery and IGMP are left out: they belong to no flow.
//
// It knows neither plans nor what the packets are for. Start reading at capture.go, then decode.go.
package capture
