# What you will see: what does a narrow link do to a connection? A link with a rate
# passes bytes no faster than that rate, after a small burst. A node whose link has a
# smaller MTU gives its pods a smaller one, too; the two ends of a connection settle on
# the smaller MSS.
#
#   modem (2 Mbit/s) ──▶ web        fibre ──▶ web        web on node2 (MTU 1280)
#
# What to try: netlab exec modem -- tc -s qdisc show dev eth0, and see the backlog;
# raise the rate, and netlab up again: the link changes, connections survive.
#
# The proof: "the narrow link is slow" and "the unlimited one is not". A busy machine
# makes everything slower, so that upper bounds on a rate always hold, and ratios
# mostly.

network { mode = "host-gw" }

node "node1" {}

node "node2" {
  link { mtu = 1280 }
}

client "modem" {
  link { rate = "2mbit" }
}

client "fibre" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "small" {
  node = node.node2
  port "http" { port = 80 }
}

pod "shell" { node = node.node1 }

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "the narrow link is slow" {
  from = client.modem
  to   = "${node.node1.ip}:30080"
  throughput {
    min = "100kbit"
    max = "2.3mbit"
  }
}

expect "much slower than the other" {
  from = client.modem
  to   = "${node.node1.ip}:30080"
  throughput {
    at_most = 0.5
    than    = client.fibre
  }
}

expect "the unlimited one is not" {
  from = client.fibre
  to   = "${node.node1.ip}:30080"
  throughput {
    at_least = 2
    than     = client.modem
  }
}

expect "pods of a node with a small MTU send small packets" {
  from = pod.small
  to   = pod.web
  mtu  = 1280
}

expect "and get small ones" {
  from = pod.shell
  to   = pod.small
  mtu  = 1280
}

expect "other pods are not affected" {
  from = pod.shell
  to   = pod.web
  mtu  = 1500
}
