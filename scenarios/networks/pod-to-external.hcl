# What you will see: a packet that leaves the cluster takes the address of its node.
# The outside world has no route to pod addresses, so the node masquerades packets to
# addresses outside the pod network; between pods nothing is rewritten.
#
#   a (node1) ──▶ node1: masquerade ──▶ web server outside, which sees node1
#
# What to try: netlab exec a -- curl internet, then netlab exec node1 -- conntrack -L;
# or netlab rules node1, and look for the chain FLANNEL-POSTRTG.
#
# The proof: "the server outside sees the node".

node "node1" {}
node "node2" {}

client "internet" {
  port "http" { port = 80 }
}

pod "a" {
  node = node.node1
  port "http" { port = 8080 }
}

pod "b" {
  node = node.node2
  port "http" { port = 8080 }
}

expect "the server outside sees the node" {
  proves = ["articles.113", "articles.115"]
  from   = pod.a
  to     = client.internet
  answer = client.internet
  source = node.node1.ip
}

expect "each pod has the address of its own node" {
  from   = pod.b
  to     = client.internet
  source = node.node2.ip
}

expect "a node keeps its own address" {
  proves = ["articles.115"]
  from   = node.node1
  to     = client.internet
  source = node.node1.ip
}

expect "inside the cluster nothing is rewritten" {
  from   = [pod.a, pod.b]
  to     = [pod.a, pod.b]
  source = each.from.ip
}
