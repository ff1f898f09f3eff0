# What you will see: pods of different nodes reach each other as if they shared one
# network. The node encapsulates the whole frame in UDP (port 8472) and sends it to
# the node of the destination pod; nothing is rewritten, so each pod sees the other's
# own address. The encapsulation costs 50 bytes: pods have an MTU of 1450.
#
#   a (node1) ──▶ cni0 ──▶ vxlan device ══UDP 8472══▶ vxlan device ──▶ cni0 ──▶ b (node2)
#
# What to try: netlab exec node1 -- ip -d link show type vxlan, then ip neigh and
# bridge fdb there: one entry in each per other node. netlab exec a -- ping -c 1 -M
# do -s 1422 with the address of b passes, -s 1423 does not.
#
# The proof: "every pod reaches every pod, unchanged".

network {
  mode = "vxlan"
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
  from = pod.a
  to   = pod.neighbour
  port = "http"
  ttl  = 64
}

expect "a port without a listener is refused" {
  from    = pod.a
  to      = "${pod.b.ip}:9"
  outcome = "refused"
}

expect "packets are as large as the tunnel allows" {
  from = pod.a
  to   = pod.b
  port = "http"
  mtu  = 1450
}

expect "a bridge for pods, and a device for the tunnel" {
  proves = ["articles.150", "articles.151", "articles.162"]
  interface {
    on   = node.node1
    name = "cni0"
    type = "bridge"
  }
  interface {
    on     = node.node1
    type   = "veth" # of a pod
    master = "cni0"
  }
  interface {
    on   = node.node1
    name = "flannel.1"
    type = "vxlan"
  }
  interface {
    on     = node.node1
    name   = "docker0"
    absent = true
  }
}
