# What you will see: a program on each node carries packets between nodes. The kernel
# routes everything for the pods of the cluster to a TUN device, flannel0; the program
# reads packets there, looks up which node has the destination, and sends them on in UDP
# datagrams. That costs 28 bytes, so pods have an MTU of 1472.
#
#   a (node1) ──▶ cni0 ──▶ flannel0 ──▶ program ══UDP 8285══▶ program ──▶ flannel0 ──▶ cni0 ──▶ b (node2)
#
# What to try: netlab exec node1 -- ip route: one route to the pods of all other nodes,
# where vxlan and host-gw have one per node. netlab explain a b:8080 shows where the
# packet leaves the kernel. netlab exec node1 -- ip link delete flannel0, then netlab
# status, and netlab up to repair it.
#
# The proof: "every pod reaches every pod, unchanged" and "no node has this address".

network {
  mode = "udp"
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

expect "the program is no hop: it leaves the TTL alone" {
  from = pod.a
  to   = pod.b
  port = "http"
  ttl  = 62
}

expect "a TUN device, and datagrams for port 8285" {
  proves = ["articles.157"]
  from   = pod.a
  to     = pod.b
  port   = "http"
  interface {
    on   = node.node1
    name = "flannel0"
    type = "tun"
  }
  seen {
    on          = node.node1
    interface   = "flannel0"
    direction   = "out"
    source      = pod.a
    destination = "${pod.b.ip}:8080"
  }
  seen {
    on                = node.node1
    direction         = "out"
    source            = pod.a
    destination       = "${pod.b.ip}:8080"
    encapsulation     = "udp"
    outer_source      = node.node1.ip
    outer_destination = "${node.node2.ip}:8285"
  }
  seen {
    on                = node.node2
    direction         = "in"
    source            = pod.a
    destination       = "${pod.b.ip}:8080"
    encapsulation     = "udp"
    outer_source      = node.node1.ip
    outer_destination = "${node.node2.ip}:8285"
  }
}

expect "packets are as large as the device allows" {
  from = pod.a
  to   = pod.b
  port = "http"
  mtu  = 1472
}

expect "no node has this address" {
  from    = [pod.a, node.node1]
  to      = "10.244.99.5:8080"
  outcome = "unreachable"
}

expect "node2 itself answers for its end of the tunnel" {
  from    = pod.a
  to      = "10.244.2.0:9"
  outcome = "refused"
}
