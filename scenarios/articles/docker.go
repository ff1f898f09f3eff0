package articles

var docker = Article{
	Title: "From Docker's network to that of Kubernetes",
	Where: "By Zzhiter, in Chinese: a walk from bridges and NAT by hand to network plugins, policies, services and how they are exposed.",
	Claims: []Claim{
		{Number: 112, Section: "Docker's network", Says: "Docker hangs containers on a bridge of the host and gives them private addresses", Verdict: Holds},
		{Number: 113, Section: "Docker's network", Says: "What a container sends to the world leaves with the address of its host", Verdict: Holds},
		{Number: 114, Section: "Docker's network", Says: "A container serves the world by a port of its host that DNAT leads to it", Verdict: Holds},
		{Number: 115, Section: "Docker's network", Says: "From outside, traffic of containers cannot be told from that of their host", Verdict: Holds},
		{Number: 116, Section: "Docker's network", Says: "What is sent into one end of a veth pair comes out of the other", Verdict: Holds},
		{Number: 117, Section: "Docker's network", Says: "A bridge switches frames between its ports", Verdict: Holds},
		{Number: 118, Section: "Docker's network", Says: "Network namespaces keep the devices, routes and sockets of containers apart", Verdict: Holds},
		{Number: 119, Section: "Docker's network", Says: "A bridge alone does not take a container beyond its host", Verdict: Holds},

		{Number: 120, Section: "Routing", Says: "For each packet that arrives, routing decides whether it is for the host or has to be passed on", Verdict: Holds},
		{Number: 121, Section: "Routing", Says: "The routing table local is asked before the table main", Verdict: Holds},
		{Number: 122, Section: "Routing", Says: "What a host sends to an address of its own passes lo and never eth0", Verdict: Holds},
		{Number: 123, Section: "Routing", Says: "A Linux host forwards nothing unless it is told to: what is not for it is dropped", Verdict: Holds},

		{Number: 124, Section: "Hooks and tables", Says: "What comes in passes PREROUTING and INPUT, what is sent OUTPUT and POSTROUTING, what is forwarded PREROUTING, FORWARD and POSTROUTING", Verdict: Holds},
		{Number: 125, Section: "Hooks and tables", Says: "iptables has four tables", Verdict: Errs, Why: "there is a fifth, security"},
		{Number: 126, Section: "Hooks and tables", Says: "SNAT is done in POSTROUTING", Verdict: Holds, Why: "elsewhere the kernel refuses it, but for INPUT"},
		{Number: 127, Section: "Hooks and tables", Says: "DNAT is done in PREROUTING", Verdict: Holds, Why: "and in OUTPUT for what the host itself sends; elsewhere the kernel refuses it"},

		{Number: 128, Section: "A container by hand", Says: "Without a default route the world is unreachable for it", Verdict: Holds},
		{Number: 129, Section: "A container by hand", Says: "ip route add default gw ADDRESS adds one", Verdict: Errs, Why: "that is the syntax of the older command route; ip calls it garbage, and wants via"},
		{Number: 130, Section: "A container by hand", Says: "A default route is not enough: without forwarding and NAT no answer comes", Verdict: Holds},
		{Number: 131, Section: "A container by hand", Says: "Masquerading what the bridge's subnet sends elsewhere than to the bridge mends that", Verdict: Holds},
		{Number: 132, Section: "A container by hand", Says: "At eth0 of the host the container's packets then have the host's address", Verdict: Holds},
		{Number: 133, Section: "A container by hand", Says: "DNAT of port 8088 of the host lets the world in", Verdict: Holds},
		{Number: 134, Section: "A container by hand", Says: "As written, that rule is not for what comes from the bridge", Verdict: Holds},
		{Number: 135, Section: "A container by hand", Says: "A capture at the host's eth0 shows the container's address and port as the destination", Verdict: Errs, Why: "the capture is before PREROUTING, and shows port 8088 of the host; only behind it, at the bridge, the container's address is seen"},
		{Number: 136, Section: "A container by hand", Says: "With Docker's network, one has to use the host's address to reach a container of another host", Verdict: Holds},

		{Number: 137, Section: "The network model", Says: "Each pod has an address of its own, and others see it with that address", Verdict: Holds},
		{Number: 138, Section: "The network model", Says: "An address of a pod is unique in the cluster", Verdict: Holds, Refusal: &Refusal{
			Wrong: "10.244.1.10", Right: "10.244.1.11", Because: "Address taken twice",
			Lab: `node "node1" {}
pod "a" { address = "10.244.1.10" }
pod "b" { address = %q }
`,
		}},
		{Number: 139, Section: "The network model", Says: "Containers of a pod share its address, and reach each other on localhost", Verdict: Holds, Why: "a pod of a lab has ports instead of containers"},
		{Number: 140, Section: "The network model", Says: "Containers of a pod have to agree on ports; pods need not", Verdict: Holds, Refusal: &Refusal{
			Wrong: "8080", Right: "8081", Because: "Port taken twice",
			Lab: `node "n" {}
pod "a" {
  port "one" { port = 8080 }
  port "two" { port = %s }
}
pod "b" {
  port "one" { port = 8080 }
}
`,
		}},
		{Number: 141, Section: "The network model", Says: "Agents of a node reach all pods of the node", Verdict: Holds},
		{Number: 142, Section: "The network model", Says: "Pods in the host's network, too, reach the pods of all nodes without NAT", Verdict: Holds},
		{Number: 143, Section: "The network model", Says: "Isolation is a matter of network policies", Verdict: Holds},
		{Number: 144, Section: "The network model", Says: "How the model is fulfilled is open: by the network underneath or by one on top of it", Verdict: Holds},
		{Number: 145, Section: "The network model", Says: "The CNI plugin gives pods their addresses and takes care of the routes between nodes", Verdict: Holds},

		{Number: 146, Section: "Network plugins", Says: "Calico routes, and its nodes tell each other the routes over BGP", Verdict: Holds},
		{Number: 147, Section: "Network plugins", Says: "Calico needs nodes that are neighbours on layer 2, or else IPIP", Verdict: Errs, Why: "so it is if the routers between them know nothing of pods; one that speaks BGP passes pods' packets on as they are"},
		{Number: 148, Section: "Network plugins", Says: "There are networks that encrypt", Verdict: Holds, Why: "the lab shows it with WireGuard, not with Weave's own protocol"},
		{Number: 149, Section: "Network plugins", Says: "Cilium grew out of Flannel and Calico", Verdict: Open, Why: "a question of history, not of packets (what joined these two was Canal)"},

		{Number: 150, Section: "Flannel", Says: "With VXLAN a node has a bridge cni0 and a device flannel.1", Verdict: Holds},
		{Number: 151, Section: "Flannel", Says: "flannel.1 is a veth device", Verdict: Errs, Why: "it is a vxlan device, and has no other end"},
		{Number: 152, Section: "Flannel", Says: "Between the nodes, pods' frames travel in UDP", Verdict: Holds},
		{Number: 153, Section: "Flannel", Says: "Devices, neighbours and forwarding entries of the tunnel are kept by flanneld", Verdict: Holds, Why: "the kernel learns none of them: where one is missing, the tunnel is silent"},
		{Number: 154, Section: "Flannel", Says: "host-gw is a route per node, and packets travel as they are", Verdict: Holds},
		{Number: 155, Section: "Flannel", Says: "host-gw costs 10 % of the hosts' throughput, VXLAN 20 to 30 %", Verdict: Open, Why: "such numbers are those of one machine; netlab bench measures them on yours. What does not depend on it is the share of headers: 50 bytes of each packet"},
		{Number: 156, Section: "Flannel", Says: "host-gw needs nodes that are neighbours on layer 2", Verdict: Holds},
		{Number: 157, Section: "Flannel", Says: "In mode UDP a program carries packets from a TUN device flannel0 over UDP port 8285", Verdict: Holds, Why: "how slow that is, netlab bench measures"},

		{Number: 158, Section: "Calico", Says: "There is no bridge and no tunnel: each pod has a link to a node that is a router", Verdict: Holds},
		{Number: 159, Section: "Calico", Says: "A BGP speaker on each node (BIRD) spreads the routes", Verdict: Holds, Why: "the lab's speaker is netlab's own; without it, the others withdraw the routes to its node's pods"},
		{Number: 160, Section: "Calico", Says: "IPIP is a tunnel device on each node, and a packet in a packet", Verdict: Holds, Why: "it adds 20 bytes where VXLAN adds 50; what else it costs, netlab bench measures"},

		{Number: 161, Section: "Cilium", Says: "Cilium forwards and filters by eBPF, without netfilter", Verdict: Open, Why: "there is no eBPF datapath in a lab: its rules are those of iptables, IPVS and nftables"},

		{Number: 162, Section: "CNI", Says: "The bridge of CNI plugins is cni0, in place of docker0", Verdict: Holds},
		{Number: 163, Section: "CNI", Says: "In big clusters, routes on layer 3 are so many that errors are hard to find", Verdict: Open, Why: "an opinion; what is a fact about it is one route per node"},

		{Number: 164, Section: "Network policies", Says: "By default nothing restricts pods", Verdict: Holds},
		{Number: 165, Section: "Network policies", Says: "A plugin that does not implement policies, such as Flannel, leaves them without effect", Verdict: Holds},
		{Number: 166, Section: "Network policies", Says: "A policy is implemented as iptables rules on hosts", Verdict: Depends, Why: "so do kube-router and Calico; the same policies work without a rule of iptables, in nftables"},
		{Number: 167, Section: "Network policies", Says: "A rule of a policy lets in a block of addresses, or pods of namespaces, or pods by label, to one port", Verdict: Holds},
		{Number: 168, Section: "Network policies", Says: "except leaves a part of a block out", Verdict: Holds},
		{Number: 169, Section: "Network policies", Says: "A rule for egress opens one block and one port of it", Verdict: Holds},
		{Number: 170, Section: "Network policies", Says: "An allow rule is an ACCEPT in KUBE-NWPLCY-CHAIN for a source, a destination, a protocol and a port", Verdict: Holds},
		{Number: 171, Section: "Network policies", Says: "A rule of FORWARD catches what comes to the pod across a bridge", Verdict: Holds},
		{Number: 172, Section: "Network policies", Says: "Another rule of FORWARD catches what is routed to the pod", Verdict: Holds},
		{Number: 173, Section: "Network policies", Says: "The pod's chain asks KUBE-NWPLCY-CHAIN first", Verdict: Errs, Why: "first it has to accept what belongs to a connection, or replies to an isolated pod would be lost; then it asks"},
		{Number: 174, Section: "Network policies", Says: "Then the pod's chain REJECTs with icmp-port-unreachable", Verdict: Errs, Why: "for UDP; TCP is reset, since clients do not end at such an error in the same way"},
		{Number: 175, Section: "Network policies", Says: "What no policy allows is refused", Verdict: Depends, Why: "where the engine says REJECT; by default engines drop, and the client waits"},
		{Number: 176, Section: "Network policies", Says: "What is forwarded does not pass OUTPUT", Verdict: Holds},
		{Number: 177, Section: "Network policies", Says: "POSTROUTING is on the way of what is forwarded and of what is sent", Verdict: Holds},
		{Number: 178, Section: "Network policies", Says: "With a bridge, packets meet these hooks on layer 2, too", Verdict: Holds},
		{Number: 179, Section: "Network policies", Says: "At one hook, tables are asked in order: nat before filter", Verdict: Holds, Why: "in OUTPUT; in INPUT nat comes last"},
		{Number: 180, Section: "Network policies", Says: "The bridge's rule is for pods of one node, the other for those of several", Verdict: Holds},
		{Number: 181, Section: "Network policies", Says: "kube-router uses BGP, too, but has the CNI bridge", Verdict: Open, Why: "of kube-router a lab has the policies; BGP it has in Calico's mode, without a bridge"},

		{Number: 182, Section: "Addresses of pods", Says: "API server, scheduler, kubelet, container runtime and CNI start a pod in this order", Verdict: Open, Why: "there is no control plane in a lab: its network is there when the pods are"},

		{Number: 183, Section: "Services", Says: "Services are needed because the addresses of pods change", Verdict: Open, Why: "expectations are about one moment; netlab up on a changed file replaces pods and endpoints, and prints what it changes"},
		{Number: 184, Section: "Services", Says: "kube-proxy follows the changes of pods and services", Verdict: Open, Why: "as 183; netlab test --real kube-proxy=PATH lets the real one follow the lab's API"},
		{Number: 185, Section: "Services", Says: "A service leads port 80 to port 9376 of the pods that its selector names", Verdict: Holds},
		{Number: 186, Section: "Services", Says: "Its endpoints are addresses and ports of these pods", Verdict: Holds},
		{Number: 187, Section: "Services", Says: "Only pods that are ready become endpoints", Verdict: Holds},
		{Number: 188, Section: "Services", Says: "A pod in trouble is no endpoint any more", Verdict: Holds},
		{Number: 189, Section: "Services", Says: "Three calls that reach three pods show that services are balanced round robin", Verdict: Errs, Why: "iptables draws lots for each connection, and may take one pod twice in a row; IPVS takes turns"},
		{Number: 190, Section: "Services", Says: "KUBE-SERVICES has a rule for 10.0.1.175 and port 80 that leads to KUBE-SVC-NWV5X2332I4OT4T3", Verdict: Holds},
		{Number: 191, Section: "Services", Says: "The virtual address belongs to no device, and answers no ping", Verdict: Holds},
		{Number: 192, Section: "Services", Says: "Three pods are three rules: 0.33332999982, 0.5, and no condition", Verdict: Holds},
		{Number: 193, Section: "Services", Says: "So each pod gets a third", Verdict: Holds},
		{Number: 194, Section: "Services", Says: "With a third in each of the three rules the shares would not be equal", Verdict: Holds, Why: "9, 6 and 4 of 27 connections, and 8 would match no rule"},
		{Number: 195, Section: "Services", Says: "The chain of an endpoint ends in DNAT to the pod's address and port", Verdict: Holds},
		{Number: 196, Section: "Services", Says: "Before that, the chain marks with 0x4000 what the pod itself sends", Verdict: Depends, Why: "in place in Kubernetes 1.1; later by a jump to KUBE-MARK-MASQ"},
		{Number: 197, Section: "Services", Says: "This DNAT takes place before PREROUTING", Verdict: Errs, Why: "in PREROUTING, behind the tables raw and mangle, which still see the old destination, and before routing"},

		{Number: 198, Section: "IPVS", Says: "A device kube-ipvs0 has the virtual address", Verdict: Holds},
		{Number: 199, Section: "IPVS", Says: "The device is down", Verdict: Depends, Why: "kube-proxy never sets it up, since local addresses work either way; netlab does"},
		{Number: 200, Section: "IPVS", Says: "The table of IPVS has one server, scheduler rr, and three real servers: masquerading, weight 1", Verdict: Holds},
		{Number: 201, Section: "IPVS", Says: "The virtual server of the service hostnames is 10.102.128.4", Verdict: Errs, Why: "it is the cluster IP of the service, 10.0.1.175"},
		{Number: 202, Section: "IPVS", Says: "What comes to the virtual server is passed on to the pods in turn", Verdict: Holds},
		{Number: 203, Section: "IPVS", Says: "No iptables rules for pods are needed", Verdict: Holds},
		{Number: 204, Section: "IPVS", Says: "Passing a packet on is not much faster than with iptables", Verdict: Open, Why: "netlab bench measures it: as good as equal for 1,000 services; with 10,000 IPVS is faster"},
		{Number: 205, Section: "IPVS", Says: "For SNAT and filters IPVS still needs iptables", Verdict: Holds},
		{Number: 206, Section: "IPVS", Says: "One option of kube-proxy chooses IPVS", Verdict: Holds},
		{Number: 207, Section: "IPVS", Says: "The kernel has to take the virtual address for its own: a local route does", Verdict: Holds},
		{Number: 208, Section: "IPVS", Says: "So does the address on a dummy device", Verdict: Holds},
		{Number: 209, Section: "IPVS", Says: "A virtual server for the cluster IP has a real server for each pod", Verdict: Holds},
		{Number: 210, Section: "IPVS", Says: "For a pod less there is a real server less", Verdict: Holds},
		{Number: 211, Section: "IPVS", Says: "Without the service there are no rules of it", Verdict: Holds},

		{Number: 212, Section: "Exposure", Says: "A cluster IP is of use inside of the cluster only", Verdict: Holds, Why: "unless a client has a route by way of a node"},
		{Number: 213, Section: "Exposure", Says: "A node port is reached at the address of any node", Verdict: Holds},
		{Number: 214, Section: "Exposure", Says: "A service of type LoadBalancer has a node port and a cluster IP, too", Verdict: Holds},
		{Number: 215, Section: "Exposure", Says: "A balancer outside may use pods' addresses directly", Verdict: Holds, Why: "if it has routes to them"},
		{Number: 216, Section: "Exposure", Says: "ExternalName is a name for a host outside, and nothing of it is done in the cluster", Verdict: Holds},
		{Number: 217, Section: "Exposure", Says: "Ingress pods behind a service for the world lead requests on to the services behind", Verdict: Holds},
		{Number: 218, Section: "Exposure", Says: "The node port may be 23456", Verdict: Errs, Why: "it is out of the range 30000 to 32767; another range has to be configured", Refusal: &Refusal{
			Wrong: "30000-32767", Right: "23000-23999", Because: "Node port out of range",
			Lab: `proxy { node_port_range = %q }
node "n" {}
pod "web" {
  labels = { app = "web" }
  port "http" { port = 80 }
}
service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 23456
  }
}
`,
		}},
		{Number: 219, Section: "Exposure", Says: "A balancer outside checks the node port on all nodes, and uses those that answer", Verdict: Holds},
		{Number: 220, Section: "Exposure", Says: "The virtual address exists in rules only, which choose a pod at random", Verdict: Holds},
		{Number: 221, Section: "Exposure", Says: "kube-proxy writes the rules, and no packet passes through it", Verdict: Holds, Why: "but in mode userspace"},
		{Number: 222, Section: "Exposure", Says: "In its older mode userspace kube-proxy itself passes connections on", Verdict: Holds, Why: "until Kubernetes 1.25"},
		{Number: 223, Section: "Exposure", Says: "Ingress works on layer 7, services on layer 4", Verdict: Holds},
		{Number: 224, Section: "Exposure", Says: "ExternalName is a CNAME in the cluster's DNS", Verdict: Holds},
		{Number: 225, Section: "Exposure", Says: "Services and DNS know no tenants", Verdict: Holds, Why: "each namespace sees the names and addresses of all"},
	},
}
