# What you will see: what a tunnel costs on a link that is the bottleneck: its headers, and nothing else.
# The links between the nodes carry 50 Mbit/s. A full segment of 1448 bytes travels in a frame of 1514:
# 47.8 Mbit/s of payload, with host-gw and routed as between the nodes themselves. VXLAN takes 50 bytes of
# every packet, so that 1398 of 1514 are payload: 46.2 Mbit/s, 3.5 % less. The UDP tunnel takes 28.
# Older numbers that say 10 or 20 % measured network cards and processors, not headers.
#
# What to try: netlab test --matrix network=vxlan,encrypted FILE, and the table below it; netlab bench
# --only network, for what a processor has to do.
#
# The proof: "the payload's share of every frame".

matrix {
  network = ["host-gw", "routed", "vxlan", "udp"]
}

locals {
  frame    = 1514 # the MTU of the underlay, and an Ethernet header
  mtu      = { host-gw = 1500, routed = 1500, vxlan = 1450, udp = 1472 }
  headers  = 52 # of IP and TCP, with timestamps
  expected = 50 * (local.mtu[network.mode] - local.headers) / local.frame
  direct   = 50 * (1500 - local.headers) / local.frame
}

node "node1" {
  link { rate = "50mbit" }
}

node "node2" {
  link { rate = "50mbit" }
}

pod "a" {
  node = node.node1
}

pod "b" {
  node = node.node2
  port "http" { port = 80 }
}

pod "agent" {
  node         = node.node2
  host_network = true
  port "metrics" { port = 9100 }
}

expect "between the nodes themselves" {
  from   = node.node1
  to     = pod.agent
  upload = 6000000
  throughput {
    min = "${0.97 * local.direct}mbit"
    max = "${1.02 * local.direct}mbit"
  }
}

expect "the payload's share of every frame" {
  from   = pod.a
  to     = pod.b
  upload = 6000000
  throughput {
    min = "${0.97 * local.expected}mbit"
    max = "${1.02 * local.expected}mbit"
  }
}

expect "segments leave room for the headers" {
  from = pod.a
  to   = pod.b
  mtu  = local.mtu[network.mode]
}
