# What you will see: nobody between the nodes can read what pods say to each other. A
# program on each node encrypts every packet for another node, numbers it, and sends it in
# a UDP datagram; the program there drops what was changed on the way, or arrives twice.
# Number, tag and headers cost 52 bytes, so pods have an MTU of 1448.
#
#   a (node1) ──▶ cni0 ──▶ weave0 ──▶ program ══UDP 6783══▶ program ──▶ weave0 ──▶ cni0 ──▶ b (node2)
#
# What to try: netlab exec node1 -- tcpdump -X -i eth0 udp port 6783 while the pods talk,
# and the same with mode = "udp" and port 8285.
#
# The proof: "every pod reaches every pod, unchanged", and "packets are as large as the
# device allows".

network {
  mode = "encrypted"
  encrypted { secret = "correct horse battery staple" }
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

expect "nobody between the nodes can read it" {
  proves = ["articles.148"]
  from   = pod.a
  to     = pod.b
  port   = "http"
  seen { # what the program sends
    on                = node.node2
    direction         = "in"
    encapsulation     = "udp"
    outer_source      = node.node1
    outer_destination = node.node2
  }
  seen { # no packet of the pods, neither plain nor in a tunnel that shows it
    on     = node.node2
    source = pod.a
    absent = true
  }
  seen { # which is what arrives
    on     = pod.b
    source = pod.a
  }
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

expect "packets are as large as the device allows" {
  from = pod.a
  to   = pod.b
  port = "http"
  mtu  = 1448
}
