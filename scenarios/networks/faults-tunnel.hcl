# What you will see: four ways in which a VXLAN tunnel breaks, each staged, tried and put right again.
# A forwarding entry (FDB) is missing: packets die in flannel.1, in one direction. A neighbour entry
# is missing: the node cannot ask for the MAC address of the far end. A firewall drops the tunnel's
# datagrams: they leave, and none arrives. Two nodes have the same pod CIDR: all others send packets
# for both to one of them. Always the same silence; who still connects tells them apart.
#
# What to try: netlab up --fault "no forwarding entry" FILE, then netlab explain a b, netlab status,
# and netlab exec node1 -- ip -s link show flannel.1, whose dropped counter grows.
#
# The proof: "sound", and below each fault how it shows.

node "node1" {}
node "node2" {}
node "node3" {}

pod "a" {
  node = node.node1
  port "http" { port = 80 }
}

pod "b" {
  node = node.node2
  port "http" { port = 80 }
}

pod "c" {
  node = node.node3
  port "http" { port = 80 }
}

expect "sound" {
  proves = ["articles.153"]
  from   = [pod.a, pod.b, pod.c]
  to     = [pod.a, pod.b, pod.c]
}

fault "no forwarding entry" {
  kind    = "missing-fdb"
  node    = node.node1
  towards = node.node2

  expect "node1 and node2 are apart" {
    proves  = ["articles.153"]
    from    = [pod.a, node.node1]
    to      = pod.b
    outcome = "timeout"
  }

  expect "replies die there, too" {
    from    = pod.b
    to      = pod.a
    outcome = "timeout"
  }

  expect "both reach node3" {
    from = [pod.a, pod.b]
    to   = pod.c
  }
}

fault "no neighbour entry" {
  count   = 2 # first on node1, then on node2
  kind    = "missing-neighbour"
  node    = node["node${count.index + 1}"]
  towards = node["node${2 - count.index}"]

  expect "node1 and node2 are apart" {
    proves  = ["articles.153"]
    from    = pod.a
    to      = pod.b
    outcome = "timeout"
  }
}

fault "tunnel blocked" {
  kind     = "blocked-port"
  node     = node.node2
  protocol = "udp"
  port     = 8472

  expect "node2 is an island" {
    proves  = ["articles.153"]
    from    = [pod.a, pod.c]
    to      = pod.b
    outcome = "timeout"
  }

  expect "the others are not" {
    from = pod.a
    to   = pod.c
  }

  expect "and neither is its own network" {
    from = node.node2
    to   = pod.b
  }
}

fault "pod CIDR taken twice" {
  kind    = "duplicate-pod-cidr"
  node    = node.node1
  towards = node.node2

  expect "packets for b go to node1" {
    from    = [pod.a, pod.c]
    to      = pod.b
    outcome = "timeout"
  }

  expect "a is still reached" {
    from = pod.c
    to   = pod.a
  }
}
