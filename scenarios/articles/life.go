package articles

var life = Article{
	Title: "The life of a packet in Kubernetes, part 3",
	Where: "By Dinesh Kumar Ramasamy, 2020, and its translation into Chinese by Se7en, 2023: services, policies and their rules, on Kubernetes 1.19 with Calico.",
	Claims: []Claim{
		{Number: 1, Section: "Pods to pods", Says: "Traffic between pods needs no kube-proxy", Verdict: Holds},
		{Number: 2, Section: "Pods to pods", Says: "Pods reach pods without NAT", Verdict: Holds},
		{Number: 3, Section: "Pods to pods", Says: "Nodes reach pods without NAT", Verdict: Holds},
		{Number: 4, Section: "Pods to pods", Says: "Pods reach nodes without NAT", Verdict: Errs, Why: "so it is on the pod's own node; towards another node, flannel masquerades what is not for a pod, and the pod is seen as its node"},
		{Number: 5, Section: "Pods to pods", Says: "A pod that starts anew gets another address", Verdict: Open, Why: "which address a pod gets is up to the CNI plugin's IPAM; here it follows from the pod's name, so that a lab is the same each time"},
		{Number: 6, Section: "Pods to pods", Says: "The names of a Deployment's pods change", Verdict: Open, Why: "controllers are not part of a lab: its pods have the names that the file gives"},
		{Number: 7, Section: "Out of the cluster", Says: "What leaves the cluster gets the address of the node, and a port there", Verdict: Holds},
		{Number: 8, Section: "Out of the cluster", Says: "In replies the node puts the pod's address back, and the pod notices nothing", Verdict: Holds},
		{Number: 9, Section: "Services", Says: "A cluster IP can be reached inside of the cluster only", Verdict: Holds, Why: "since no router outside knows a way there; a client with a route by way of a node gets through, masqueraded"},
		{Number: 10, Section: "Services", Says: "One virtual address stands for a set of pods", Verdict: Holds},
		{Number: 11, Section: "Services", Says: "Each service has a name in DNS", Verdict: Holds},
		{Number: 12, Section: "Services", Says: "On the client's node the virtual address is turned into that of a pod, by iptables or by IPVS", Verdict: Holds},
		{Number: 13, Section: "Services", Says: "The connection is tracked, so that replies come from the virtual address", Verdict: Holds},
		{Number: 14, Section: "Services", Says: "IPVS has more ways to balance", Verdict: Holds},
		{Number: 15, Section: "Services", Says: "IPVS is faster", Verdict: Open, Why: "speed is measured, not claimed: netlab bench, and a table in ARCHITECTURE.md. With 1,000 services a connection takes as long as with iptables; with 10,000 it is faster, and so are changes of rules"},
		{Number: 16, Section: "Services", Says: "A front end reaches a back end by cluster IP or by name", Verdict: Holds},
		{Number: 17, Section: "Services", Says: "A name server in the cluster knows its services", Verdict: Holds, Why: "they are pods behind a service of their own"},
		{Number: 18, Section: "Services", Says: "An ordinary service is called NAME.NAMESPACE.svc.cluster.local, which leads to its cluster IP", Verdict: Holds},
		{Number: 19, Section: "Node ports", Says: "From outside, the virtual address is out of reach", Verdict: Holds, Why: "as in 9"},
		{Number: 20, Section: "Node ports", Says: "A service of type NodePort gets a port from 30000 to 32767 by itself", Verdict: Holds},
		{Number: 21, Section: "Node ports", Says: "That range can be configured", Verdict: Holds},
		{Number: 22, Section: "Node ports", Says: "Every node serves the same port", Verdict: Holds},
		{Number: 23, Section: "Node ports", Says: "One may choose the port", Verdict: Holds},
		{Number: 24, Section: "Node ports", Says: "A port that is taken is refused", Verdict: Holds, Refusal: &Refusal{
			Wrong: "31380", Right: "31381", Because: "Node port taken twice",
			Lab: `node "n" {}
pod "web" {
  labels = { app = "web" }
  port "http" { port = 80 }
}
service "a" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 31380
  }
}
service "b" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = %s
  }
}
`,
		}},
		{Number: 25, Section: "Node ports", Says: "The target port is the port, unless written", Verdict: Holds},
		{Number: 26, Section: "External traffic policy", Says: "Local keeps the client's address", Verdict: Holds},
		{Number: 27, Section: "External traffic policy", Says: "Under Local, traffic from outside stays on the node", Verdict: Holds, Why: "what comes from inside of the cluster does not: see 37"},
		{Number: 28, Section: "External traffic policy", Says: "Local risks uneven load", Verdict: Holds},
		{Number: 29, Section: "External traffic policy", Says: "Cluster hides the client's address", Verdict: Holds},
		{Number: 30, Section: "External traffic policy", Says: "Cluster may use pods of other nodes", Verdict: Holds},
		{Number: 31, Section: "External traffic policy", Says: "Cluster balances well", Verdict: Holds},
		{Number: 32, Section: "External traffic policy", Says: "Cluster is the default", Verdict: Holds},
		{Number: 33, Section: "External traffic policy", Says: "Under Cluster, a node with a pod of its own may still choose another node's", Verdict: Holds},
		{Number: 34, Section: "External traffic policy", Says: "The destination is rewritten, then the source; the pod's reply returns to that node, which undoes both", Verdict: Holds},
		{Number: 35, Section: "External traffic policy", Says: "The source becomes the node's address", Verdict: Errs, Why: "it becomes the address of the interface that the packet leaves by: that of the tunnel device towards a pod of another node over VXLAN"},
		{Number: 36, Section: "External traffic policy", Says: "In the example, the client connects to port 3138", Verdict: Errs, Why: "a slip of the pen: the service has 31380, and on 3138 nobody listens"},
		{Number: 37, Section: "External traffic policy", Says: "Under Local, kube-proxy writes rules for the node's own pods only", Verdict: Errs, Why: "it writes those of all pods, too, for what comes from pods or from the node itself"},
		{Number: 38, Section: "External traffic policy", Says: "A node without a pod drops the packet", Verdict: Holds},
		{Number: 39, Section: "External traffic policy", Says: "Local is refused for a service without traffic from outside", Verdict: Holds, Refusal: &Refusal{
			Wrong: "\"ClusterIP\"", Right: "\"NodePort\"", Because: "External policy without external traffic",
			Lab: `node "n" {}
pod "web" {
  labels = { app = "web" }
  port "http" { port = 80 }
}
service "web" {
  type                    = %s
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" { port = 80 }
}
`,
		}},
		{Number: 40, Section: "External traffic policy", Says: "A connection to the node with the pod stays there, with its true source", Verdict: Holds},
		{Number: 41, Section: "External traffic policy", Says: "A connection to the node without one is dropped", Verdict: Holds},
		{Number: 42, Section: "External traffic policy", Says: "A load balancer's health check takes nodes without pods out", Verdict: Holds},
		{Number: 43, Section: "External traffic policy", Says: "Then there is no need to rewrite the source", Verdict: Holds},
		{Number: 44, Section: "kube-proxy", Says: "kube-proxy writes rules of iptables, for filtering and for NAT, on each node", Verdict: Holds},
		{Number: 45, Section: "kube-proxy", Says: "KUBE-SERVICES knows address and port, and leads to KUBE-SVC-", Verdict: Holds},
		{Number: 46, Section: "kube-proxy", Says: "KUBE-SVC- balances evenly, with a chain KUBE-SEP- for each endpoint", Verdict: Holds},
		{Number: 47, Section: "kube-proxy", Says: "KUBE-SEP- does the DNAT and nothing else", Verdict: Errs, Why: "it has another rule, which marks what a pod sends to itself for masquerading"},
		{Number: 48, Section: "kube-proxy", Says: "A connection is NEW with its first packet", Verdict: Holds},
		{Number: 49, Section: "kube-proxy", Says: "Then it is ESTABLISHED", Verdict: Holds},
		{Number: 50, Section: "kube-proxy", Says: "RELATED is what belongs to another connection", Verdict: Holds, Why: "an ICMP error is; the data connection of FTP, the article's example, needs a helper"},
		{Number: 51, Section: "kube-proxy", Says: "INVALID is what fits no connection", Verdict: Holds},
		{Number: 52, Section: "kube-proxy", Says: "A pod dials a virtual address, its own node chooses a pod, and replies are rewritten there", Verdict: Holds},
		{Number: 53, Section: "kube-proxy", Says: "In the example, the reply comes from 2.2.2.2", Verdict: Errs, Why: "a slip of the pen: it comes from the address that was dialed, 2.2.2.10 there"},
		{Number: 54, Section: "iptables", Says: "netfilter is the kernel's framework, iptables a tool for it", Verdict: Open, Why: "a definition"},
		{Number: 55, Section: "iptables", Says: "What is for the node itself passes PREROUTING and INPUT", Verdict: Holds},
		{Number: 56, Section: "iptables", Says: "What goes through it passes PREROUTING, FORWARD and POSTROUTING", Verdict: Holds},
		{Number: 57, Section: "iptables", Says: "What it sends itself passes OUTPUT and POSTROUTING", Verdict: Holds},
		{Number: 58, Section: "iptables", Says: "FORWARD works only with ip_forward", Verdict: Errs, Why: "what is routed needs it; what a bridge passes on meets FORWARD without it, by br_netfilter"},
		{Number: 59, Section: "iptables", Says: "sysctl switches forwarding on, and /proc shows it", Verdict: Holds},
		{Number: 60, Section: "iptables", Says: "The setting does not survive a boot, unless it is in sysctl.conf", Verdict: Open, Why: "a lab does not boot"},
		{Number: 61, Section: "iptables", Says: "There are five tables", Verdict: Holds},
		{Number: 62, Section: "iptables", Says: "filter is the default table", Verdict: Holds},
		{Number: 63, Section: "iptables", Says: "mangle sets marks that others use", Verdict: Holds},
		{Number: 64, Section: "iptables", Says: "raw takes packets out of connection tracking", Verdict: Holds, Why: "and with that, nobody asks the table nat, by which a service's address leads to a pod"},
		{Number: 65, Section: "iptables", Says: "security sets marks of SELinux", Verdict: Open, Why: "it needs SELinux; the table itself is there (61)"},
		{Number: 66, Section: "The rules of a service", Says: "A node port service has a cluster IP, 10.103.46.104, and two endpoints", Verdict: Holds},
		{Number: 67, Section: "The rules of a service", Says: "The cluster IP is on no interface", Verdict: Holds},
		{Number: 68, Section: "The rules of a service", Says: "The name server at 10.96.0.10 gives the cluster IP", Verdict: Holds},
		{Number: 69, Section: "The rules of a service", Says: "PREROUTING and OUTPUT lead to KUBE-SERVICES", Verdict: Holds},
		{Number: 70, Section: "The rules of a service", Says: "PREROUTING leads to Calico's and to Docker's chains as well", Verdict: Holds},
		{Number: 71, Section: "The rules of a service", Says: "KUBE-SERVICES marks what comes from outside of the pod network, then leads to the service, and ends in KUBE-NODEPORTS", Verdict: Depends, Why: "as in 1.19; older versions have a colon after the name of a port without a name, and newer ones set the mark in the chain of the service"},
		{Number: 72, Section: "The rules of a service", Says: "KUBE-NODEPORTS is the end of KUBE-SERVICES", Verdict: Holds},
		{Number: 73, Section: "The rules of a service", Says: "KUBE-NODEPORTS marks, then leads to the service", Verdict: Depends, Why: "as in 1.19; newer versions have a chain KUBE-EXT- between"},
		{Number: 74, Section: "The rules of a service", Says: "KUBE-SVC-2IRACUALRELARSND gives a half to the first endpoint, and the rest to the second", Verdict: Depends, Why: "as in 1.19 and newer versions; in older ones a colon is in its hash"},
		{Number: 75, Section: "The rules of a service", Says: "KUBE-SEP-AO6KYGU752IZFEZ4 and KUBE-SEP-PJFBSHHDX4VZAOXM mark and translate", Verdict: Depends, Why: "as in 1.19 and newer versions; their hashes differ in older ones, as in 74"},
		{Number: 76, Section: "The rules of a service", Says: "KUBE-MARK-MASQ sets 0x4000", Verdict: Holds},
		{Number: 77, Section: "The rules of a service", Says: "The way to a cluster IP is KUBE-SERVICES, KUBE-SVC-, KUBE-SEP-", Verdict: Holds},
		{Number: 78, Section: "The rules of a service", Says: "The way to a node port is KUBE-SERVICES, KUBE-NODEPORTS, KUBE-SVC-, KUBE-SEP-", Verdict: Depends, Why: "as in 1.19; newer versions have KUBE-EXT- between"},
		{Number: 79, Section: "The rules of a service", Says: "A node port service has a cluster IP, too", Verdict: Holds},
		{Number: 80, Section: "The rules of a service", Says: "Under Local, KUBE-NODEPORTS marks what comes from the loopback, then leads to KUBE-XLB-", Verdict: Depends, Why: "as in 1.19; in newer versions to KUBE-EXT-"},
		{Number: 81, Section: "The rules of a service", Says: "KUBE-XLB- sends pods on to the service", Verdict: Holds},
		{Number: 82, Section: "The rules of a service", Says: "KUBE-XLB- marks what the node itself sends", Verdict: Holds},
		{Number: 83, Section: "The rules of a service", Says: "KUBE-XLB- sends that on to the service", Verdict: Depends, Why: "the words \"to service chain\" of the comment are those of 1.19; 1.14 does not have them"},
		{Number: 84, Section: "The rules of a service", Says: "Where no pod is local, KUBE-XLB- ends in KUBE-MARK-DROP", Verdict: Holds},
		{Number: 85, Section: "The rules of a service", Says: "Where one is, it ends in \"Balancing rule 0\"", Verdict: Holds},
		{Number: 86, Section: "The rules of a service", Says: "KUBE-SVC- has its one endpoint, without a condition", Verdict: Holds},
		{Number: 87, Section: "Headless services", Says: "A headless service has no address, no rules, and nobody balances", Verdict: Holds},
		{Number: 88, Section: "Headless services", Says: "With a selector, its name leads to the pods", Verdict: Holds},
		{Number: 89, Section: "Headless services", Says: "The example has two endpoints", Verdict: Holds},
		{Number: 90, Section: "Headless services", Says: "A service of type ExternalName is a CNAME", Verdict: Holds},
		{Number: 91, Section: "Headless services", Says: "Otherwise, a headless service without a selector has the endpoints of its name", Verdict: Holds},
		{Number: 92, Section: "Network policies", Says: "Policies are the CNI plugin's work, not kube-proxy's", Verdict: Holds},
		{Number: 93, Section: "Network policies", Says: "Without a policy, pods are open", Verdict: Holds},
		{Number: 94, Section: "Network policies", Says: "A label of the client decides", Verdict: Holds},
		{Number: 95, Section: "Network policies", Says: "Who is denied gets no answer", Verdict: Holds},
		{Number: 96, Section: "Network policies", Says: "Calico turns a policy into an object of its own, of order 1000", Verdict: Open, Why: "the objects of Calico's API are not part of a lab; its rules are"},
		{Number: 97, Section: "Network policies", Says: "The host's end of the database's link is cali95aa86cbb2a", Verdict: Holds, Why: "from a hash of namespace and name"},
		{Number: 98, Section: "Network policies", Says: "A pod's address is a /32", Verdict: Holds},
		{Number: 99, Section: "Network policies", Says: "The chain of a pod accepts RELATED and ESTABLISHED, and drops INVALID", Verdict: Holds},
		{Number: 100, Section: "Network policies", Says: "Then it clears the mark of a pass, at \"Start of policies\"", Verdict: Holds},
		{Number: 101, Section: "Network policies", Says: "It tries the chain of a policy as long as nothing passed the packet on", Verdict: Holds, Why: "from a hash of the policy's name, to the letter"},
		{Number: 102, Section: "Network policies", Says: "It returns what a policy accepted", Verdict: Holds},
		{Number: 103, Section: "Network policies", Says: "It drops what no policy passed", Verdict: Holds},
		{Number: 104, Section: "Network policies", Says: "The policy's chain marks what is in a set of addresses, and returns", Verdict: Holds},
		{Number: 105, Section: "Network policies", Says: "Where a packet comes from is asked before where it goes", Verdict: Holds},
		{Number: 106, Section: "Network policies", Says: "In names, tw and fw are to and from a workload, pi and po a policy's directions, pri and pro a profile's", Verdict: Holds},
		{Number: 107, Section: "Network policies", Says: "Each rule has a hash in a comment", Verdict: Holds, Why: "of the chain so far, to the letter"},
		{Number: 108, Section: "Network policies", Says: "With a set, one rule is for many addresses", Verdict: Holds},
		{Number: 109, Section: "Network policies", Says: "A set changes without its rules", Verdict: Holds},
		{Number: 110, Section: "Network policies", Says: "A look into a set is cheap", Verdict: Open, Why: "speed is measured, not claimed: netlab bench, from 1 to 1,000 policies"},
		{Number: 111, Section: "Network policies", Says: "The set has the addresses of back ends, and no other", Verdict: Holds},
	},
}
