# What you will see: WireGuard between the nodes. Each node has a key pair and knows the others by
# their public keys, each with the pods that it may send for. Packets leave encrypted, in UDP
# datagrams of port 51820; what arrives from a peer in the name of other pods is dropped. Header,
# tag and the headers around them cost 60 bytes, so pods have an MTU of 1440. Where the kernel has
# no WireGuard, a program does the same on a device of the same name: netlab status says which.
#
#   a (node1) ──▶ cni0 ──▶ flannel-wg ══UDP 51820══▶ flannel-wg ──▶ cni0 ──▶ b (node2)
#
# What to try: netlab explain a b, netlab plan (the peers, as wg syncconf takes them), and
# netlab exec node1 -- tcpdump -X -i eth0 udp port 51820 while the pods talk.
#
# The proof: "every pod reaches every pod, unchanged", and with a fault each "a wrong key is silent
# in both directions" and "a handshake needs an answer".

network {
  mode = "wireguard"
}

node "node1" {}

node "node2" {
  key = "eJ0qSe1V6AMg0ed8tHbB0VYaxcqDP5hOrbVUrFXkeVI=" # as wg genkey prints it; node1's is derived from its name
}

node "node3" {}

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

pod "c" {
  node = node.node3
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

locals {
  pods = [pod.a, pod.b, pod.c]
}

expect "every pod reaches every pod, unchanged" {
  proves = ["articles.148"]
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
  from   = [node.node1, node.node2, node.node3]
  to     = local.pods
  port   = "http"
  source = each.from
}

expect "the tunnel is no hop: it leaves the TTL alone" {
  from = pod.a
  to   = pod.b
  port = "http"
  ttl  = 62
}

expect "packets are as large as the device allows" {
  from = pod.a
  to   = pod.b
  port = "http"
  mtu  = 1440
}

fault "node2 has another key" {
  kind = "wrong-key"
  node = node.node2

  expect "a wrong key is silent in both directions" {
    proves  = ["articles.148"]
    from    = [pod.a, pod.c]
    to      = pod.b
    port    = "http"
    outcome = "timeout"
  }

  expect "from node2, too" {
    from    = pod.b
    to      = [pod.a, pod.c]
    port    = "http"
    outcome = "timeout"
  }

  expect "the others understand each other" {
    from = [pod.a, pod.c]
    to   = [pod.a, pod.c]
    port = "http"
  }
}

fault "datagrams to node3 are blocked" {
  kind     = "blocked-port"
  node     = node.node3
  port     = 51820
  protocol = "udp"

  expect "nothing arrives" {
    from    = pod.a
    to      = pod.c
    port    = "http"
    outcome = "timeout"
  }

  expect "a handshake needs an answer" {
    from    = pod.c
    to      = pod.a
    port    = "http"
    outcome = "timeout"
  }

  expect "a and b have nothing to do with it" {
    from = pod.a
    to   = pod.b
    port = "http"
  }
}
