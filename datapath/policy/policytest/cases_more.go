package policytest

// portCases test ports and protocols.
func portCases() []Case {
	var list []Case
	for _, row := range []struct {
		name  string
		items []item
	}{
		{"a number", []item{ports("80")}},
		{"TCP if no protocol is given", []item{ports("81")}},
		{"UDP", []item{ports("udp/80")}},
		{"SCTP opens nothing else", []item{ports("sctp/80")}},
		{"all ports of TCP", []item{ports("tcp")}},
		{"all ports of UDP", []item{ports("udp")}},
		{"an empty port matches all TCP ports", []item{ports("")}},
		{"a range", []item{ports("80-81")}},
		{"a range of one", []item{ports("81-81")}},
		{"a range that ends before", []item{ports("70-80")}},
		{"a range that begins after", []item{ports("81-65535")}},
		{"a range of UDP", []item{ports("udp/81-90")}},
		{"two ports", []item{ports("80", "udp/81")}},
		{"overlapping ranges", []item{ports("1-80", "60-80", "82-90")}},
		{"more ports than a rule of iptables takes", []item{ports("1", "3", "5", "7", "9", "11", "13", "15", "17", "19", "21", "23-25", "27-29", "31", "33", "35", "81", "100-200", "udp/1", "udp/81")}},
		{"a name", []item{ports("web")}},
		{"a name of UDP", []item{ports("udp/dns")}},
		{"a name with the wrong protocol", []item{ports("dns")}},
		{"a name that no pod declares", []item{ports("none")}},
		{"a name and a number", []item{ports("web", "udp/80")}},
		{"two names", []item{ports("web", "udp/ntp")}},
		{"a name and pods", []item{ports("web"), pods("")}},
		{"a name and namespaces", []item{ports("alt"), namespaces("ns in y,z")}},
		{"a name and a block", []item{ports("web"), block("pods")}},
		{"a name, a block and pods", []item{ports("web"), block("pods of node2"), both("", "pod=c")}},
		{"a number and pods", []item{ports("80"), both("ns=y", "pod=b")}},
		{"a number without a listener", []item{ports("99")}},
	} {
		list = append(list,
			one("ingress by port: "+row.name, policy("x", "pod in b,c", types("Ingress"), in(row.items...)), policy("y", "pod=b", types("Ingress"), in(row.items...))),
			one("egress by port: "+row.name, policy("x", "pod in b,c", types("Egress"), out(row.items...))))
	}
	return list
}

// unions test several policies, and both sides of a connection.
func unions() []Case {
	return []Case{
		one("two policies for a pod are a union", policy("x", "pod=a", in(pods("pod=b"))), policy("x", "pod=a", in(namespaces("ns=y"), ports("81")))),
		one("allow all beats deny all", policy("x", "", types("Ingress")), policy("x", "pod=a", in())),
		one("one policy denies, the other allows a port", policy("x", "", types("Ingress", "Egress")), policy("x", "", in(ports("80")), types("Ingress"))),
		one("a policy per direction", policy("x", "", types("Ingress"), in(namespaces("ns=y"))), policy("x", "", types("Egress"), out(namespaces("ns=z")))),
		one("both sides must allow", policy("x", "", types("Egress"), out(namespaces("ns=y"))), policy("y", "", types("Ingress"), in(namespaces("ns=z")))),
		one("both sides allow", policy("x", "", types("Egress"), out(namespaces("ns=y"))), policy("y", "", types("Ingress"), in(namespaces("ns=x")))),
		one("the source allows what the destination denies", policy("x", "pod=a", types("Egress"), out(both("", ""))),
			policy("x", "pod=c", types("Ingress")), policy("z", "", types("Ingress"))),
		one("the destination allows what the source denies", policy("x", "pod=c", types("Egress")), policy("z", "", types("Ingress"), in(namespaces("ns=x")))),
		one("ingress from the own namespace, no egress", policy("x", "", types("Ingress", "Egress"), in(pods("")))),
		one("egress to the own namespace, no ingress", policy("x", "", types("Ingress", "Egress"), out(pods("")))),
		one("different ports on both sides", policy("x", "", in(ports("80")), out(ports("81", "udp")))),
		one("the same port on both sides", policy("x", "", in(ports("80"), pods("")), out(ports("80")))),
		one("replies pass where egress is denied", policy("x", "pod=a", types("Ingress", "Egress"), in())),
		one("replies pass where ingress is denied", policy("x", "pod=a", types("Ingress", "Egress"), out())),
		one("a database, its backend and the others", policy("y", "pod=b", types("Ingress", "Egress"), in(pods("pod=a"), ports("80")))),
		one("only DNS may leave", policy("x", "", types("Egress"), out(ports("udp/80"), namespaces("kubernetes.io/metadata.name=z")))),
		one("only traffic from outside", policy("y", "pod=b", types("Ingress"), in(block("all", "pods")))),
		one("only a service's pod", policy("x", "", types("Egress"), out(both("ns=y", "pod=b"), ports("80")))),
		one("a service's own port opens nothing", policy("x", "", types("Egress"), out(both("ns=y", "pod=b"), ports("8080")))),
		one("a node port is an address of a node", policy("x", "", types("Egress"), out(block("node2"), ports("30080")))),
		one("the entry node's address", policy("y", "pod=b", types("Ingress"), in(block("pods of node2"), block("node2")))),
		one("the client's address", policy("y", "pod=b", types("Ingress"), in(block("outside")))),
		one("many policies for one pod", policy("z", "pod=a", in(pods("pod=b"))), policy("z", "pod=a", in(pods("pod=c"), ports("80"))),
			policy("z", "pod=a", in(namespaces("ns=x"), ports("udp"))), policy("z", "pod=a", in(block("outside"))), policy("z", "", out(pods("")))),
	}
}

// nodes test nodes and pods on the host network.
func nodes() []Case {
	return []Case{
		one("a pod on the host network is not denied", policy("x", "pod=a", types("Ingress", "Egress"))),
		one("a pod on the host network is not a peer", policy("z", "", types("Ingress"), in(namespaces("ns=x")))),
		one("a pod on the host network is not an egress peer", policy("z", "", types("Egress"), out(both("ns=x", "pod=a")))),
		one("nodes reach their own pods only", policy("x", "", types("Ingress")), policy("y", "", types("Ingress"))),
		one("another node by its block", policy("x", "", types("Ingress"), in(block("node1"), block("node2"), block("pods of node2")))),
		one("to the own node, enforced", policy("x", "", types("Egress")), hostEgress()),
		one("to the own node, enforced and allowed", policy("x", "", types("Egress"), out(block("node1"), ports("80"))), hostEgress()),
		one("to the own node, enforced with a union", policy("x", "", types("Egress"), out(block("underlay", "node1"))), policy("x", "pod=a", types("Egress"), out(ports("udp"))), hostEgress()),
		one("ingress where egress to the node is enforced", policy("x", "", types("Ingress")), hostEgress()),
	}
}

// tiers test cluster policies.
func tiers() []Case {
	list := []Case{
		one("admin denies", admin(10, "ns=x", "-", inDo("Deny", namespaces("ns=y")))),
		one("admin denies egress", admin(10, "ns=x", "-", outDo("Deny", namespaces("ns=y")))),
		one("admin accepts what a policy denies", admin(10, "ns=x", "-", inDo("Accept", namespaces("ns=y"))), policy("x", "", types("Ingress"))),
		one("admin denies what a policy accepts", admin(10, "ns=x", "-", inDo("Deny", namespaces("ns=y"))), policy("x", "", in())),
		one("accepting one direction leaves the other", admin(10, "", "-", inDo("Accept", namespaces(""))), policy("x", "", types("Ingress", "Egress"))),
		one("admin accepts both directions", admin(10, "", "-", inDo("Accept", namespaces("")), outDo("Accept", namespaces(""))), policy("x", "", types("Ingress", "Egress"))),
		one("pass leaves it to policies", admin(10, "ns=x", "-", inDo("Pass", namespaces("ns=y")), inDo("Deny", namespaces(""))), policy("x", "pod=a", types("Ingress"), in(namespaces("ns=y"), ports("80")))),
		one("pass skips later priorities", admin(10, "ns=x", "-", inDo("Pass", namespaces("ns=y"))), admin(20, "ns=x", "-", inDo("Deny", namespaces("")))),
		one("pass where no other policy applies", admin(10, "ns=x", "-", outDo("Pass", namespaces("ns=y")), outDo("Deny", namespaces("")))),
		one("pass to the baseline", admin(10, "ns=x", "-", inDo("Pass", namespaces("ns=y")), inDo("Accept", namespaces("ns=z"))), baseline(0, "", "-", inDo("Deny", namespaces("")))),
		one("the lower priority number wins", admin(20, "ns=x", "-", inDo("Deny", namespaces(""))), admin(10, "ns=x", "-", inDo("Accept", namespaces("ns=y")))),
		one("the higher priority number loses", admin(10, "ns=x", "-", inDo("Deny", namespaces(""))), admin(20, "ns=x", "-", inDo("Accept", namespaces("ns=y")))),
		one("rules apply in order", admin(10, "ns=x", "-", inDo("Accept", namespaces("ns=y"), ports("tcp/80")), inDo("Deny", namespaces("ns=y")), inDo("Accept", namespaces("")))),
		one("some pods of some namespaces", admin(10, "ns in x,y", "pod=b", inDo("Deny", both("ns=z", "pod in a,b")))),
		one("networks include pods", admin(10, "ns=x", "-", outDo("Deny", networks("y/b", "outside")), outDo("Accept", networks("all")))),
		one("ports of the admin tier", admin(10, "ns=x", "-", inDo("Deny", namespaces(""), ports("tcp/80", "udp/81")))),
		one("the baseline denies", baseline(0, "ns=x", "-", inDo("Deny", namespaces("")))),
		one("the baseline denies egress", baseline(0, "ns=x", "-", outDo("Deny", namespaces("ns=y")))),
		one("the baseline accepts before it denies", baseline(0, "ns=x", "-", inDo("Accept", namespaces("ns=y")), inDo("Deny", namespaces("")))),
		one("pass in the baseline skips its denials", baseline(0, "ns=x", "-", inDo("Pass", namespaces("ns=y")), inDo("Deny", namespaces("")))),
		one("the baseline does not apply to isolated pods", baseline(0, "ns=x", "-", inDo("Deny", namespaces(""))), policy("x", "pod=a", in(namespaces("ns=z")))),
		one("the baseline applies in the other direction", baseline(0, "ns=x", "-", outDo("Deny", namespaces("")), inDo("Deny", namespaces(""))), policy("x", "", types("Ingress"), in(pods("")))),
		one("all three tiers", admin(5, "", "-", inDo("Deny", both("ns=z", "pod=c")), inDo("Pass", namespaces(""), ports("tcp/80"))), admin(6, "", "pod=a", inDo("Accept", namespaces("ns=y"))),
			policy("y", "", in(namespaces("ns=x"))), baseline(0, "", "-", inDo("Deny", namespaces("ns=x")))),
		one("admin selectors do not match outside clients", admin(10, "ns=x", "-", inDo("Deny", both("", "")))),
		one("admin egress to the own node, enforced", admin(10, "ns=x", "-", outDo("Deny", networks("underlay"))), hostEgress()),
	}
	for i := range list {
		list[i].Legacy = noTiers
	}
	return list
}

// labels test changes of labels.
func labels() []Case {
	return []Case{
		one("a pod is selected after its label changes", policy("x", "pod=a", types("Ingress")), label("x/b", "pod", "a")),
		one("a pod is not selected after it loses its label", policy("x", "pod", types("Ingress")), label("x/b", "pod", "")),
		one("a peer whose label changes", policy("x", "", in(pods("pod=b"))), label("x/c", "pod", "b")),
		one("a namespace whose label changes", policy("x", "", in(namespaces("ns=y"))), namespaceLabel("z", "ns", "y")),
		one("a namespace that loses its label", policy("x", "", types("Egress"), out(namespaces("letter"))), namespaceLabel("y", "letter", "")),
	}
}
