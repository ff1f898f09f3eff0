package policytest

// Case is a set of policies, tested with the whole table.
type Case struct {
	Name string
	Say  []statement
	// Legacy is why style legacy fails the case; empty: it passes.
	Legacy fault
}

// Cases are the conformance cases.
func Cases() []Case {
	var list []Case
	for _, group := range [][]Case{defaults(), selectors(), combinations(), blocks(), portCases(), unions(), nodes(), tiers(), labels()} {
		list = append(list, group...)
	}
	for i := range list {
		if f := legacyFaults()[list[i].Name]; f != "" {
			list[i].Legacy = f
		}
	}
	return list
}

func one(name string, say ...statement) Case { return Case{Name: name, Say: say} }

// defaults test policyTypes, and absent or empty parts.
func defaults() []Case {
	return []Case{
		one("no policies"),
		one("deny ingress, no types", policy("x", "")),
		one("deny ingress", policy("x", "", types("Ingress"))),
		one("deny egress", policy("x", "", types("Egress"))),
		one("deny both", policy("x", "", types("Ingress", "Egress"))),
		one("no selector selects every pod of the namespace", policy("x", "-", types("Ingress"))),
		one("no types, with an egress rule: both", policy("x", "", out(pods("pod=b")))),
		one("no types, with ingress and egress rules", policy("x", "", in(pods("pod=b")), out(pods("pod=c")))),
		one("no types, with an ingress rule: ingress", policy("x", "", in(pods("pod=b")))),
		one("ingress rules are inert without their type", policy("x", "", types("Egress"), in(pods("pod=b")))),
		one("egress rules are inert without their type", policy("x", "", types("Ingress"), out(pods("pod=b")))),
		one("an empty ingress rule allows all", policy("x", "", in())),
		one("an empty egress rule allows all", policy("x", "", types("Egress"), out())),
		one("empty rules in both directions", policy("x", "", in(), out())),
		one("egress type with an empty ingress rule", policy("x", "", types("Ingress", "Egress"), in())),
		one("deny one pod", policy("x", "pod=a", types("Ingress"))),
		one("deny egress of one pod", policy("x", "pod=a", types("Egress"))),
		one("a selector that matches no pod", policy("x", "pod=none", types("Ingress", "Egress"))),
		one("deny both everywhere", policy("x", "", types("Ingress", "Egress")), policy("y", "", types("Ingress", "Egress")), policy("z", "", types("Ingress", "Egress"))),
		one("deny ingress in two namespaces", policy("x", "", types("Ingress")), policy("z", "", types("Ingress"))),
		one("a rule without peers", policy("y", "pod=b", in(ports("80")), types("Ingress"))),
		one("an egress rule without peers", policy("y", "pod=b", types("Egress"), out(ports("80")))),
		one("policies select pods by expressions", policy("x", "pod notin a,b", types("Ingress", "Egress"))),
		one("policies select pods by the presence of a label", policy("x", "first", types("Ingress"), in(pods("!first")))),
	}
}

// selectors test every operator, in peers of both directions.
func selectors() []Case {
	var list []Case
	for _, row := range []struct{ name, selector string }{
		{"label", "pod=b"}, {"In", "pod in a,c"}, {"NotIn", "pod notin b"}, {"NotIn where the key is missing", "first notin yes"},
		{"Exists", "first"}, {"DoesNotExist", "!first"}, {"two expressions", "pod in a,b; first"}, {"label and expression", "ns=x; pod notin c"},
		{"no match", "pod=none"}, {"two labels", "pod=b; ns=x"},
	} {
		list = append(list,
			one("from pods: "+row.name, policy("x", "", types("Ingress"), in(pods(row.selector)))),
			one("to pods: "+row.name, policy("x", "", types("Egress"), out(pods(row.selector)))))
	}
	for _, row := range []struct{ name, selector string }{
		{"label", "ns=y"}, {"by the name label", "kubernetes.io/metadata.name=y"}, {"In", "ns in x,z"}, {"NotIn", "ns notin x"},
		{"NotIn where the key is missing", "letter notin x"}, {"Exists", "letter"}, {"DoesNotExist", "!letter"}, {"all", ""}, {"none", "ns=w"},
		{"label and expression", "ns=x; letter"},
	} {
		list = append(list,
			one("from namespaces: "+row.name, policy("x", "", types("Ingress"), in(namespaces(row.selector)))),
			one("to namespaces: "+row.name, policy("x", "", types("Egress"), out(namespaces(row.selector)))))
	}
	return list
}

// combinations test AND within a peer and OR between peers.
func combinations() []Case {
	var list []Case
	for _, row := range []struct {
		name  string
		rules [][]item
	}{
		{"pods of the own namespace", [][]item{{pods("")}}},
		{"namespace and pods", [][]item{{both("ns=y", "pod=b")}}},
		{"namespace or pods", [][]item{{namespaces("ns=y"), pods("pod=b")}}},
		{"pods in all namespaces", [][]item{{both("", "pod=a")}}},
		{"all pods of all namespaces", [][]item{{both("", "")}}},
		{"namespaces and pods by expressions", [][]item{{both("ns notin x", "pod in a,c")}}},
		{"two peers", [][]item{{both("ns=y", "pod=a"), both("ns=z", "pod=b")}}},
		{"two rules", [][]item{{both("ns=y", "pod=a"), ports("80")}, {both("ns=z", "pod=b"), ports("81")}}},
		{"two rules for the same pods", [][]item{{both("ns=y", "pod=a"), ports("80")}, {namespaces("ns=y"), ports("udp/81")}}},
		{"a rule that matches nothing and one that matches some", [][]item{{pods("pod=none")}, {pods("pod=c")}}},
	} {
		var ingress, egress []part
		for _, items := range row.rules {
			ingress, egress = append(ingress, in(items...)), append(egress, out(items...))
		}
		list = append(list,
			one("from "+row.name, policy("x", "pod in a,b", append(ingress, types("Ingress"))...)),
			one("to "+row.name, policy("x", "pod in a,b", append(egress, types("Egress"))...)))
	}
	return list
}

// blocks test ipBlock.
func blocks() []Case {
	var list []Case
	for _, row := range []struct {
		name  string
		items []item
	}{
		{"one pod", []item{block("y/b")}},
		{"all pods", []item{block("pods")}},
		{"pods of a node", []item{block("pods of node1")}},
		{"all pods except one", []item{block("pods", "y/b")}},
		{"all pods except two", []item{block("pods", "y/b", "z/a")}},
		{"all pods except those of a node", []item{block("pods", "pods of node2")}},
		{"nested exceptions", []item{block("pods", "pods of node2", "y/a")}},
		{"an exception applies to its own block only", []item{block("pods", "y/b"), block("pods of node1")}},
		{"an exception that another block includes again", []item{block("pods", "pods of node1"), block("z/a")}},
		{"overlapping blocks", []item{block("pods"), block("pods of node1", "x/a")}},
		{"everything", []item{block("all")}},
		{"everything except the pods", []item{block("all", "pods")}},
		{"everything except one pod", []item{block("all", "y/b")}},
		{"everything except one pod, and that pod", []item{block("all", "y/b"), block("y/b")}},
		{"everything of the other family", []item{block("other family")}},
		{"outside", []item{block("outside")}},
		{"a node", []item{block("node2")}},
		{"the underlay", []item{block("underlay")}},
		{"the underlay except a node", []item{block("underlay", "node1")}},
		{"cluster IPs", []item{block("services")}},
		{"a small block around a pod", []item{block("y/b wider by 3", "y/b")}},
		{"a block and pods", []item{block("outside"), pods("pod=c")}},
		{"an exception does not apply to selected pods", []item{block("pods", "x/c"), pods("pod=c")}},
		{"a block and a port", []item{block("pods", "z/b"), ports("81")}},
	} {
		list = append(list,
			one("from a block: "+row.name, policy("x", "pod in a,b", types("Ingress"), in(row.items...)), policy("y", "pod=b", types("Ingress"), in(row.items...))),
			one("to a block: "+row.name, policy("x", "pod in a,b", types("Egress"), out(row.items...)), policy("z", "", types("Egress"), out(row.items...))))
	}
	return list
}
