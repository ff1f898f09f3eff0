// Package calico is the policy style of Calico: dispatch to two chains per pod, a chain
// per policy and direction, and marks for "accepted" and "passed on".
//
// # The path of a packet
//
//  1. FORWARD begins with cali-FORWARD, which looks up the pods that policies apply to
//     in two trees: cali-from-wl-dispatch by where it comes from, cali-to-wl-dispatch by
//     where it goes. In modes in which each pod has a link of its own, that is the name of the
//     link (cali…), and links with the same next letter share a chain; behind a bridge it is
//     the address, split four bits at a time, so that a packet meets a handful of rules
//     however many pods there are. Each leaf goes to the pod's own chain: cali-fw-<link> for what comes from it, cali-tw-<link> for what goes to it,
//     by the name of the pod's link on the node. A packet between two pods of one node
//     goes through both. What a pod sends to itself through a service returns before.
//  2. The pod's chain accepts known connections, drops INVALID packets and clears the mark
//     "accept" (0x10000). Packets that a pod addresses to the nodes' own tunnels are
//     dropped: it could spoof packets of other pods.
//  3. Then the tiers in order. Each begins by clearing the mark "pass" (0x20000) and
//     jumps to the chains of its policies, cali-pi-… inbound and cali-po-… outbound with a
//     hash of Calico's name of the policy, as long as "pass" is not set. A rule that matches sets
//     "accept", "pass", or "deny" (0x100000), and returns. "Accept" returns from the
//     pod's chain immediately: the packet goes on to the other pod's chain. After the
//     network policies of an isolated pod, what was not accepted is denied.
//  4. Where no network policy isolates the pod, the Baseline tier comes next, then the
//     profile of its namespace, cali-pri-kns.<namespace> or cali-pro-kns.<namespace>,
//     which accepts.
//  5. Back in FORWARD the packet goes on to the chains of services and of the pod
//     network.
//
// Rules match the other end with sets (hash:net): cali40s:… of the pods that a selector
// selects, named by a hash of the selector as Felix writes it, which all rules with that
// selector share. Named ports are in cali40n:… (hash:ip,port), by a hash of selector, protocol and
// name; for IPv6 cali60s: and cali60n:. A rule of a policy becomes one for each protocol and
// peer, and blocks are matched without a set. What one rule of iptables cannot say comes in
// rules before it, which leave the mark 0x40000: ports of several kinds set it, the exceptions of
// a block clear it. A change of labels changes members of sets and no rule, except for the chains
// of pods that become isolated or cease to be. Each rule begins with the comment cali: and a hash
// of its chain up to there, by which Felix recognises its rules.
//
// With tunnels of IPIP, cali-INPUT accepts their packets from the addresses of nodes
// (cali40all-hosts-net) and drops those of others.
//
// # What it costs
//
// Per node 4 chains and the trees; per pod 2 chains of about 8 rules; per policy and
// direction 1 chain, per rule, protocol and peer up to 1 set of pods, 1 set for each name of a
// port, and 2 rules, with several kinds of ports or exceptions 2 and one for each. A packet's
// cost grows with the logarithm of the pods of its node, and with the rules of the
// policies of its two pods.
//
// # Unlike Calico
//
// Calico's pods are not bridge ports. Here they are in most modes: FORWARD then sees the bridge,
// whichever pod it leads to, so that the trees split addresses, as they do with IPVS. These trees
// have only the pods that policies apply to, and let others pass; Felix, which knows links alone,
// would see neither end of a packet there. Where each pod has a link of its own, the trees have
// all pods and drop what is of an unknown link, as Felix's do. All of this, the rules about
// tunnels too, is on nodes with a pod that some policy selects. Accepted packets
// do not get a final ACCEPT at the end of FORWARD, since kube-proxy's rules that reject
// connections to services without endpoints come after. No policy applies to what a pod sends to
// itself: the trees have a rule for that, which Calico lacks. A port by its name towards a block
// is the port of no pod. The tier of cluster policies is not
// Calico's own, but uses its marks as its tiers do. Where IPVS serves the services,
// their packets leave by OUTPUT; Calico marks endpoints for that, here cali-OUTPUT sends
// packets that the node did not originate to both trees, and cali-INPUT skips what is for
// services.
package calico
