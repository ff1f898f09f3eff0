package articles

var docker = Article{
	Title: "From Docker's network to that of Kubernetes",
	Where: "In Chinese, by Zzhiter: a digest of several texts on containers, pod networks, policies, kube-proxy and the ways into a cluster.",
	Claims: []Claim{
		{Number: 112, Section: "Docker", Says: "Containers are on a bridge of their host, with addresses that mean nothing elsewhere", Verdict: Holds},
		{Number: 113, Section: "Docker", Says: "What they send out has their host's address", Verdict: Holds},
		{Number: 114, Section: "Docker", Says: "A port of the host leads to one of theirs, by DNAT", Verdict: Holds},
		{Number: 115, Section: "Docker", Says: "From outside, containers cannot be told from their host", Verdict: Holds},
		{Number: 116, Section: "What it is made of", Says: "A veth is a pair: what enters one end leaves by the other", Verdict: Holds},
		{Number: 117, Section: "What it is made of", Says: "A bridge connects its ports as a switch does", Verdict: Holds},
		{Number: 118, Section: "What it is made of", Says: "A network namespace has devices, routes and sockets of its own", Verdict: Holds},
		{Number: 119, Section: "What it is made of", Says: "A bridge alone leads to the neighbours, not to the world", Verdict: Holds},
		{Number: 120, Section: "Routing", Says: "The route decides whether a packet that comes in is for the host or goes on", Verdict: Holds},
		{Number: 121, Section: "Routing", Says: "The table local is asked before the table main", Verdict: Holds},
		{Number: 122, Section: "Routing", Says: "What a host sends to itself passes lo, and is not seen on eth0", Verdict: Holds},
		{Number: 123, Section: "Routing", Says: "A host drops what is for others, unless forwarding is on, which is not the default", Verdict: Holds, Why: "the default is by the kernel's documentation (ip-sysctl); a new namespace begins with what the machine has"},
		{Number: 124, Section: "iptables", Says: "Receiving passes two hooks, sending two, forwarding three", Verdict: Holds},
		{Number: 125, Section: "iptables", Says: "There are four tables", Verdict: Errs, Why: "five: security is one, too"},
		{Number: 126, Section: "iptables", Says: "SNAT belongs in POSTROUTING", Verdict: Holds, Why: "the kernel takes it in INPUT, too, and nowhere else"},
		{Number: 127, Section: "iptables", Says: "DNAT belongs in PREROUTING", Verdict: Holds, Why: "the kernel takes it in OUTPUT, too, for what the host itself sends, and nowhere else"},
		{Number: 128, Section: "By hand", Says: "Without a default route a container cannot send to the world", Verdict: Holds},
		{Number: 129, Section: "By hand", Says: "ip route add default gw ADDRESS adds the route", Verdict: Errs, Why: "ip refuses it: the word is via; gw is that of the old command route"},
		{Number: 130, Section: "By hand", Says: "A default route alone does not do, without forwarding and NAT", Verdict: Holds},
		{Number: 131, Section: "By hand", Says: "MASQUERADE of what leaves the subnet, but by another way than the bridge, repairs that", Verdict: Holds},
		{Number: 132, Section: "By hand", Says: "A capture at the host's eth0 shows the host's address as the source", Verdict: Holds},
		{Number: 133, Section: "By hand", Says: "A rule of DNAT for port 8088 lets the world in", Verdict: Holds},
		{Number: 134, Section: "By hand", Says: "It leaves alone what comes from the bridge", Verdict: Holds},
		{Number: 135, Section: "By hand", Says: "A capture at the host's eth0 shows the address of the container as the destination", Verdict: Errs, Why: "it shows the host's address and port: a capture stands before PREROUTING. The container's address is on the bridge"},
		{Number: 136, Section: "Docker across hosts", Says: "A container of another host is reached by the address of its host only", Verdict: Holds},
		{Number: 137, Section: "The network model", Says: "A pod has an address of its own, and others see that one", Verdict: Holds},
		{Number: 138, Section: "The network model", Says: "No two pods of a cluster have the same address", Verdict: Holds, Refusal: &Refusal{
			Wrong: "10.244.1.20", Right: "10.244.1.21", Because: "Address taken twice",
			Lab: `node "node1" {}
pod "a" { address = "10.244.1.20" }
pod "b" { address = "%s" }
`,
		}},
		{Number: 139, Section: "The network model", Says: "Containers of a pod share its address, and reach each other on localhost", Verdict: Holds, Why: "a pod of a lab has ports, no containers"},
		{Number: 140, Section: "The network model", Says: "Containers of one pod must agree on their ports, those of two pods need not", Verdict: Holds, Refusal: &Refusal{
			Wrong: "8080", Right: "8081", Because: "Port taken twice",
			Lab: `node "n" {}
pod "a" {
  port "http" { port = 8080 }
  port "more" { port = %s }
}
pod "b" {
  port "http" { port = 8080 }
}
`,
		}},
		{Number: 141, Section: "The network model", Says: "Programs of a node reach the pods there", Verdict: Holds},
		{Number: 142, Section: "The network model", Says: "Pods on the network of their node reach all pods without NAT", Verdict: Holds, Why: "the other way around: see 4"},
		{Number: 143, Section: "The network model", Says: "Policies keep pods apart", Verdict: Holds},
		{Number: 144, Section: "The network model", Says: "Routes of the underlay or an overlay: either serves", Verdict: Holds},
		{Number: 145, Section: "The network model", Says: "The CNI plugin gives a pod its address, and the nodes their routes", Verdict: Holds},
		{Number: 146, Section: "Pod networks", Says: "Calico uses policy routing, and BGP between the nodes", Verdict: Errs, Why: "BGP, yes, but no policy routing: its routes are in the main table, by destination alone"},
		{Number: 147, Section: "Pod networks", Says: "Calico needs nodes on one link; for others it has IPIP", Verdict: Errs, Why: "a router between the nodes will do, if it takes part in BGP; IPIP is for those that do not"},
		{Number: 148, Section: "Pod networks", Says: "Weave can encrypt", Verdict: Holds},
		{Number: 149, Section: "Pod networks", Says: "Cilium is a graft of Flannel on Calico", Verdict: Open, Why: "it is about history, and mistaken: the graft is called Canal, which networks/canal.hcl has"},
		{Number: 150, Section: "Flannel", Says: "In mode VXLAN a node has the device flannel.1 and the bridge cni0", Verdict: Holds},
		{Number: 151, Section: "Flannel", Says: "flannel.1 is a veth", Verdict: Errs, Why: "its type is vxlan; a veth would lead to another namespace, not to other nodes"},
		{Number: 152, Section: "Flannel", Says: "Between nodes the packet travels in UDP", Verdict: Holds},
		{Number: 153, Section: "Flannel", Says: "flanneld makes the device, and enters the other nodes in it", Verdict: Holds, Why: "a lab has no flanneld; what it enters is there, and where it is not, packets are lost"},
		{Number: 154, Section: "Flannel", Says: "In mode host-gw a node has a route for each other node, and packets travel as they are", Verdict: Holds},
		{Number: 155, Section: "Flannel", Says: "host-gw costs a tenth of the rate, VXLAN a fifth to a third", Verdict: Open, Why: "speed is measured, not claimed: netlab bench. The order is as said, the numbers are those of a machine; what headers alone cost is in networks/header-tax.hcl"},
		{Number: 156, Section: "Flannel", Says: "host-gw needs nodes on one link", Verdict: Holds},
		{Number: 157, Section: "Flannel", Says: "In mode UDP a program reads packets from the TUN device flannel0, and sends them to port 8285 of the other node", Verdict: Holds, Why: "how much slower that is: netlab bench"},
		{Number: 158, Section: "Calico", Says: "It has no bridge and no tunnel: a node routes to the device of each pod", Verdict: Holds},
		{Number: 159, Section: "Calico", Says: "A node runs Felix, and BIRD, which speaks BGP", Verdict: Holds, Why: "a speaker of BGP runs in the lab; Felix does not, but what it writes, routes and rules, is there"},
		{Number: 160, Section: "Calico", Says: "With IPIP, packets between nodes go through a tunnel device, within other IP packets", Verdict: Holds, Why: "its type is ipip, not TUN; it costs 20 bytes, where VXLAN costs 50. Rates: netlab bench"},
		{Number: 161, Section: "Cilium", Says: "It forwards and filters by eBPF, without netfilter", Verdict: Open, Why: "a lab has no data path of eBPF"},
		{Number: 162, Section: "CNI", Says: "The bridge of Kubernetes is cni0, where that of Docker is docker0", Verdict: Holds},
		{Number: 163, Section: "CNI", Says: "With plain routes, large clusters are hard to debug", Verdict: Open, Why: "an opinion"},
		{Number: 164, Section: "Network policies", Says: "Without a policy, pods may do anything", Verdict: Holds},
		{Number: 165, Section: "Network policies", Says: "Policies need a plugin that knows them, which Flannel is not", Verdict: Holds, Why: "the API takes them, and every packet passes"},
		{Number: 166, Section: "Network policies", Says: "They become rules of iptables on the nodes", Verdict: Depends, Why: "on the plugin: those of kube-router and Calico do; others are written for nftables, without a rule of iptables"},
		{Number: 167, Section: "Network policies", Says: "One policy may allow a block with a hole, a namespace and a label, on one port", Verdict: Holds},
		{Number: 168, Section: "Network policies", Says: "except takes its block out", Verdict: Holds, Why: "out of its own rule only: see policies/policy-ip-block.hcl"},
		{Number: 169, Section: "Network policies", Says: "Egress may be limited to a block and a port", Verdict: Holds},
		{Number: 170, Section: "Network policies", Says: "KUBE-NWPLCY-CHAIN has a rule of ACCEPT for each source, destination, protocol and port", Verdict: Holds},
		{Number: 171, Section: "Network policies", Says: "A rule of FORWARD sends what is bridged to a pod to the pod's chain", Verdict: Holds},
		{Number: 172, Section: "Network policies", Says: "Another one sends what is routed to it there", Verdict: Holds},
		{Number: 173, Section: "Network policies", Says: "The pod's chain asks KUBE-NWPLCY-CHAIN", Verdict: Holds},
		{Number: 174, Section: "Network policies", Says: "Then it rejects the rest, and has no other rule", Verdict: Errs, Why: "the rule is there, but it takes one more, for ESTABLISHED and RELATED: without it, replies to the pod would be rejected, too"},
		{Number: 175, Section: "Network policies", Says: "What a policy does not allow is refused", Verdict: Depends, Why: "on the plugin: rejecting is a choice, most of them drop"},
		{Number: 176, Section: "Network policies", Says: "What is forwarded does not pass OUTPUT", Verdict: Holds},
		{Number: 177, Section: "Network policies", Says: "All that leaves passes POSTROUTING", Verdict: Holds},
		{Number: 178, Section: "Network policies", Says: "With a bridge, the hooks are on layer 2 as well", Verdict: Holds},
		{Number: 179, Section: "Network policies", Says: "A hook asks its tables in order, nat before filter in OUTPUT", Verdict: Holds},
		{Number: 180, Section: "Network policies", Says: "The rule for bridged packets is for pods of one node, the other for what comes from another node", Verdict: Holds},
		{Number: 181, Section: "Network policies", Says: "kube-router is a simple Calico: BGP, and the bridge of CNI", Verdict: Open, Why: "in a lab BGP goes with Calico's routed links; kube-router's policies are there (policies { style = \"kube-router\" }), and the routes that it would set are those of host-gw"},
		{Number: 182, Section: "Pods get addresses", Says: "API server, scheduler, kubelet and container runtime start a pod in steps", Verdict: Open, Why: "a lab has no control plane: its pods are there, with their addresses"},
		{Number: 183, Section: "Services", Says: "Services are needed since pods come and go with their addresses", Verdict: Holds, Why: "the address of the service stays, whichever pods it selects"},
		{Number: 184, Section: "Services", Says: "kube-proxy follows pods and services, and changes the rules", Verdict: Holds, Why: "in a lab netlab up follows the file, and the rules lead to those pods alone that it selects; kube-proxy itself, as the command of proxy, follows the API of the lab"},
		{Number: 185, Section: "Services", Says: "A label chooses the pods, and port 80 becomes 9376", Verdict: Holds},
		{Number: 186, Section: "Services", Says: "The endpoints are the chosen pods' addresses, with their port", Verdict: Holds},
		{Number: 187, Section: "Services", Says: "Only pods that are ready are endpoints", Verdict: Holds},
		{Number: 188, Section: "Services", Says: "A pod in trouble is taken out", Verdict: Holds},
		{Number: 189, Section: "Services", Says: "Three connections go to three pods, in turn", Verdict: Errs, Why: "iptables draws lots for each connection; IPVS and the old mode userspace take turns"},
		{Number: 190, Section: "Services", Says: "A rule of KUBE-SERVICES leads 10.0.1.175:80 to KUBE-SVC-NWV5X2332I4OT4T3", Verdict: Holds, Why: "to the letter"},
		{Number: 191, Section: "Services", Says: "The virtual address answers no ping", Verdict: Holds, Why: "so with iptables; IPVS, whose nodes have the address, refuses it by a rule"},
		{Number: 192, Section: "Services", Says: "Three rules lead to the endpoints, with 0.33332999982, 0.5 and no condition", Verdict: Holds, Why: "to the letter"},
		{Number: 193, Section: "Services", Says: "So each pod gets a third", Verdict: Holds},
		{Number: 194, Section: "Services", Says: "With a third in each of the rules, shares would differ", Verdict: Holds, Why: "a third, 2 of 9, 4 of 27, and 8 of 27 that match none: the text asks, and leaves it to its readers"},
		{Number: 195, Section: "Services", Says: "A chain for each endpoint has its DNAT, to port 9376", Verdict: Holds, Why: "to the letter"},
		{Number: 196, Section: "Services", Says: "It sets the mark 0x4000 in place, for what the pod sends to itself", Verdict: Depends, Why: "the first versions did; later ones jump to KUBE-MARK-MASQ"},
		{Number: 197, Section: "Services", Says: "DNAT happens before PREROUTING", Verdict: Errs, Why: "it happens in PREROUTING, in the table nat, after raw and mangle; a capture, which stands before it, still shows the virtual address"},
		{Number: 198, Section: "IPVS", Says: "The device kube-ipvs0 has the virtual address, as a /32", Verdict: Holds},
		{Number: 199, Section: "IPVS", Says: "That device is DOWN", Verdict: Open, Why: "kube-proxy never sets it up, a lab does; its addresses are local either way"},
		{Number: 200, Section: "IPVS", Says: "ipvsadm lists the three pods: rr, Masq, weight 1", Verdict: Holds},
		{Number: 201, Section: "IPVS", Says: "In that list, the service is 10.102.128.4", Verdict: Errs, Why: "a slip of the pen: it is 10.0.1.175, as on the device"},
		{Number: 202, Section: "IPVS", Says: "Connections go to the pods in turn", Verdict: Holds},
		{Number: 203, Section: "IPVS", Says: "It needs no rules of iptables per pod", Verdict: Holds},
		{Number: 204, Section: "IPVS", Says: "It forwards hardly faster than iptables", Verdict: Open, Why: "speed is measured, not claimed: netlab bench. With 1,000 services that is so; with 10,000 it is faster"},
		{Number: 205, Section: "IPVS", Says: "It leaves SNAT to iptables", Verdict: Holds},
		{Number: 206, Section: "IPVS", Says: "An option of kube-proxy selects it", Verdict: Holds},
		{Number: 207, Section: "LVS by hand", Says: "The kernel must hold the virtual address to be its own, by a local route", Verdict: Holds, Why: "otherwise the packet goes on, past the virtual server"},
		{Number: 208, Section: "LVS by hand", Says: "Or by an address of a dummy device", Verdict: Holds},
		{Number: 209, Section: "LVS by hand", Says: "A virtual server for the service, and a real server for each pod", Verdict: Holds},
		{Number: 210, Section: "LVS by hand", Says: "A pod less is an entry less", Verdict: Holds},
		{Number: 211, Section: "LVS by hand", Says: "Without the service there are no entries", Verdict: Holds},
		{Number: 212, Section: "Ways into the cluster", Says: "A cluster IP is for the inside only", Verdict: Holds, Why: "as in 9"},
		{Number: 213, Section: "Ways into the cluster", Says: "A node port is reached by the address of any node", Verdict: Holds},
		{Number: 214, Section: "Ways into the cluster", Says: "Type LoadBalancer brings a node port and a cluster IP", Verdict: Holds},
		{Number: 215, Section: "Ways into the cluster", Says: "A balancer may go to pods directly", Verdict: Holds, Why: "if it has routes to them"},
		{Number: 216, Section: "Ways into the cluster", Says: "ExternalName is a name, and nothing in the cluster", Verdict: Holds},
		{Number: 217, Section: "Ways into the cluster", Says: "Pods of an ingress behind a node port lead to three services, each with its pods", Verdict: Holds},
		{Number: 218, Section: "Ways into the cluster", Says: "That node port is 23456", Verdict: Errs, Why: "it is out of the default range, and refused; it takes a range of one's own", Refusal: &Refusal{
			Wrong: "23456", Right: "30456", Because: "Node port out of range",
			Lab: `node "n" {}
pod "web" {
  labels = { app = "web" }
  port "http" { port = 80 }
}
service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = %s
  }
}
`,
		}},
		{Number: 219, Section: "Ways into the cluster", Says: "A balancer outside asks that port of each node, and sends to those that answer", Verdict: Holds},
		{Number: 220, Section: "Ways into the cluster", Says: "The virtual address is in rules alone, which choose a pod at random", Verdict: Holds},
		{Number: 221, Section: "Ways into the cluster", Says: "kube-proxy moves no packets, it lays the pipes", Verdict: Holds, Why: "the pod sees the client itself, which it does not in the mode that moves them, userspace"},
		{Number: 222, Section: "Ways into the cluster", Says: "The mode userspace is the old one", Verdict: Depends, Why: "on which: it is gone since Kubernetes 1.26; a lab still has it"},
		{Number: 223, Section: "Ways into the cluster", Says: "An ingress knows HTTP, a service connections only", Verdict: Holds},
		{Number: 224, Section: "Ways into the cluster", Says: "ExternalName is a CNAME in the cluster's DNS", Verdict: Holds},
		{Number: 225, Section: "Ways into the cluster", Says: "Services and DNS are not made for several tenants", Verdict: Open, Why: "an opinion; that any pod reaches any service is in 10"},
	},
}
