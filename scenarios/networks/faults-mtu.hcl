# What you will see: a tunnel whose headers nobody made room for. The pods of two nodes have the MTU of
# the underlay, 1500, and flannel.1 between them carries 1450. That alone slows nothing down: the node
# answers a packet that is too big with "fragmentation needed", and TCP sends smaller ones. But a firewall
# drops this ICMP message. Now everything small works, connections open, a ping is answered, and every
# upload stalls: a path MTU black hole.
#
# What to try: netlab up --fault "no room for headers" FILE; netlab exec a -- ping -c 1 -M do -s 1472 B,
# with the address of b, and -s 1422; netlab exec a -- ip link show eth0; netlab status.
#
# The proof: "small requests work" and "uploads stall", below the fault.

network {
  mode = "vxlan"
}

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

expect "uploads arrive" {
  from   = [pod.a, pod.b, pod.c]
  to     = [pod.a, pod.b, pod.c]
  upload = 100000
}

expect "in packets that leave room for headers" {
  from = pod.a
  to   = pod.b
  mtu  = 1450
}

fault "no room for headers" {
  kind    = "wrong-mtu"
  node    = node.node1
  towards = node.node2

  expect "small requests work" {
    from = [pod.a, pod.b]
    to   = [pod.a, pod.b]
  }

  expect "uploads stall" {
    from    = pod.a
    to      = pod.b
    upload  = 100000
    outcome = "timeout"
  }

  expect "in the other direction, too" {
    from    = pod.b
    to      = pod.a
    upload  = 100000
    outcome = "timeout"
  }

  expect "what is as small as a request does not" {
    from   = pod.a
    to     = pod.b
    upload = 1300
  }

  expect "with a pod that asks for smaller segments it works" {
    from   = [pod.a, pod.b]
    to     = pod.c
    upload = 100000
  }
}
