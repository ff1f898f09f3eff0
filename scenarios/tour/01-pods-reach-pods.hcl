# What you will see: pods reach pods of other nodes with their own address, and nobody
# rewrites anything. In mode host-gw each node has a plain route to the pods of the other,
# and packets pass as they are; in mode vxlan the same frame travels inside UDP between the
# nodes. That costs 50 bytes of each packet, and nothing else changes: the pods cannot tell.
#
#   a ──▶ cni0 node1 ─── 10.244.2.0/24 via node2 ───▶ node2 cni0 ──▶ b      host-gw
#   a ──▶ cni0 node1 ══ node1 > node2:8472 { a > b } ══▶ node2 cni0 ──▶ b   vxlan
#
# What to try: netlab explain a b, which prints each step; netlab up on this file, then
# netlab exec node1 -- ip route and netlab exec node1 -- bridge fdb. netlab test --matrix
# network=udp,routed,wireguard tries the same claims on other pod networks: those about the wire, the
# MTU and the route are about these two, and do not hold in each of the others.
#
# The proof: "pods see each other's own address", "what is on the wire" and "50 bytes".

matrix { network = ["host-gw", "vxlan"] }

locals {
  tunnel = network.mode == "vxlan"
}

node "node1" {}
node "node2" {}

pod "a" {
  node = node.node1
  port "http" { port = 8080 }
}

pod "b" {
  node = node.node2
  port "http" { port = 8080 }
}

expect "pods see each other's own address" {
  proves = ["articles.2", "articles.137", "articles.144"]
  from   = [pod.a, pod.b]
  to     = [pod.a, pod.b]
  source = each.from.ip
}

expect "nodes reach every pod" {
  proves = ["articles.3", "articles.141"]
  from   = [node.node1, node.node2]
  to     = [pod.a, pod.b]
  source = each.from
}

expect "two nodes forward it, whatever is around it" {
  from = pod.a
  to   = pod.b
  ttl  = 62
}

expect "what is on the wire" {
  proves = ["articles.152", "articles.154"]
  from   = pod.a
  to     = pod.b
  seen {
    on            = node.node2
    direction     = "in"
    source        = pod.a
    destination   = pod.b
    encapsulation = local.tunnel ? "vxlan" : "none"
  }
  seen {
    on          = pod.b
    source      = pod.a
    destination = pod.b
  }
}

expect "50 bytes" {
  from = pod.a
  to   = pod.b
  mtu  = local.tunnel ? 1450 : 1500
}

expect "a route, or a route and a tunnel" {
  proves = ["articles.145", "articles.154"]
  route {
    on  = node.node1
    to  = node.node2.pod_cidr
    via = local.tunnel ? cidrhost(node.node2.pod_cidr, 0) : node.node2.ip
    dev = local.tunnel ? "flannel.1" : "eth0"
  }
}
