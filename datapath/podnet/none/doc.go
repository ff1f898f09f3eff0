// Package none is a pod network that ends at the node: a bridge per node, as in every
// mode, and nothing that leads from one node to the pods of another. It is what a cluster
// looks like when its CNI plugin runs (bridge, host-local, ipMasq), but the pod CIDRs are
// not routed yet.
//
// A packet from pod 10.244.1.2 on node1 to pod 10.244.2.3 on node2:
//
//  1. The pod has one route, via 10.244.1.1. It resolves that address by ARP
//     and sends the frame to cni0, the bridge of node1, whose own address it is.
//  2. node1 looks up 10.244.2.3 and finds no route but the default one, to the gateway
//     192.168.0.1. It lowers the TTL to 63 and leaves both addresses as they are;
//     FLANNEL-POSTRTG returns for traffic between pods.
//  3. The gateway does not forward. The packet is lost without an error, and the pod's
//     connection times out.
//
// What still works does not need such a route: pods of the same node reach each other on
// their bridge; a pod reaches its own node, and every other node and client with its
// node's address, since what leaves the cluster's pods is masqueraded; nodes reach their
// own pods. A service works when a node chooses an endpoint of its own: by traffic
// policy Local, or by luck. With an endpoint on another node the connection times out;
// with endpoints on both nodes about every second one does.
//
// What it costs: nothing per remote node, and per pod nothing on other nodes. No header,
// so pods have the underlay's MTU.
//
// How to recognise it: "ip route get 10.244.2.3" on the node shows the default gateway; the
// packets leave by eth0 and no answer comes; no neighbour is missing and no drop counter
// rises on the node. Services fail at random, and the share that fails is that of the
// endpoints on other nodes.
//
// Alternatives: routes that the scenario writes on each node make this host-gw by hand;
// host-gw writes them for every node; vxlan needs none of the network in between.
package none
