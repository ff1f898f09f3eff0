# What you will see: pods of different nodes reach each other by plain routes. Each
# node has one route per other node, which leads to the pods of that node; packets
# cross the underlay as they are, and the MTU is that of the underlay.
#
#   a (node1) ──▶ cni0 ──▶ eth0 ── 10.244.2.0/24 via node2 ──▶ eth0 ──▶ cni0 ──▶ b (node2)
#
# What to try: netlab exec node1 -- ip route, and compare with pod-to-pod-vxlan.hcl.
# This works only as long as the nodes share one link: the next hop must be a
# neighbour.
#
# The proof: "every pod reaches every pod, unchanged".

network {
  mode = "host-gw"
}

node "node1" {}
node "node2" {}

pod "a" {
  node = node.node1
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "b" {
  node = node.node2
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "neighbour" {
  node = node.node1
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

locals {
  pods = [pod.a, pod.b, pod.neighbour]
}

expect "every pod reaches every pod, unchanged" {
  from   = local.pods
  to     = local.pods
  port   = "http"
  source = each.from.ip
}

expect "udp as well" {
  from   = local.pods
  to     = local.pods
  port   = "echo"
  source = each.from.ip
}

expect "nodes reach every pod with an address of their own" {
  from   = [node.node1, node.node2]
  to     = local.pods
  port   = "http"
  source = each.from
}

expect "two nodes forward what goes from one to the other" {
  from = pod.a
  to   = pod.b
  port = "http"
  ttl  = 62
}

expect "udp is forwarded the same way" {
  from = pod.a
  to   = pod.b
  port = "echo"
  ttl  = 62
}

expect "between pods of one node there is only a bridge" {
  proves = ["articles.117"]
  from   = pod.a
  to     = pod.neighbour
  port   = "http"
  ttl    = 64
}

expect "a port without a listener is refused" {
  from    = pod.a
  to      = "${pod.b.ip}:9"
  outcome = "refused"
}

expect "packets are as large as the link between the nodes allows" {
  from = pod.a
  to   = pod.b
  port = "http"
  mtu  = 1500
}

expect "without services there are no rules for any" {
  proves = ["articles.211"]
  rules {
    on     = node.node1
    table  = "nat"
    chain  = "KUBE-SERVICES"
    equals = <<-EOT
      -A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
    EOT
  }
  rules {
    on    = node.node1
    tool  = "iptables"
    table = "nat"
    lacks = "-j DNAT"
  }
}
