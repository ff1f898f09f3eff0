# What you will see: BGP with route reflectors, in both IP families. In a full mesh every node
# has a session with every other; with N nodes these are N(N-1)/2. Here all nodes peer with two
# of them, which pass on what they hear (RFC 4456), and otherwise with nobody. The next hop
# stays that of the node with the pods: reflectors are on the way of routes, not of packets.
#
#   rr1 ────────── rr2      a session with each other, and with each client
#    ├── n1 ────────┤
#    ├── n2 ────────┤
#    └── n3 ────────┘       no sessions between n1, n2 and n3
#
# What to try: netlab exec n1 -- ip route show proto bgp; netlab inspect, which lists the
# sessions; netlab up --fault "a reflector is gone" FILE, and netlab inspect again.
#
# The proof: "every pod reaches every pod" and its TTL; then one reflector is gone, and what
# was learned from it is learned from the other.

network {
  mode         = "routed"
  pod_cidr     = ["10.244.0.0/16", "fd00:10:244::/56"]
  service_cidr = ["10.96.0.0/16", "fd00:10:96::/112"]
  node_cidr    = ["192.168.0.0/24", "fd00:192:168::/64"]
  bgp {
    route_reflectors = [node.rr1, node.rr2]
  }
}

node "rr1" {}
node "rr2" {}
node "n1" {}
node "n2" {}
node "n3" {}

pod "on-rr1" {
  node = node.rr1
  port "http" { port = 80 }
}
pod "a" {
  node = node.n1
  port "http" { port = 80 }
}
pod "b" {
  node = node.n2
  port "http" { port = 80 }
}
pod "c" {
  node = node.n3
  port "http" { port = 80 }
}

locals { clients = [pod.a, pod.b, pod.c] }

expect "every pod reaches every pod" {
  from   = concat(local.clients, [pod.on-rr1])
  to     = concat(local.clients, [pod.on-rr1])
  source = each.from.ip
}

expect "in IPv6, too" {
  from   = local.clients
  to     = [for p in local.clients : "[${p.ips[1]}]:80"]
  source = each.from.ips[1]
}

expect "no reflector is on the way" {
  from = pod.a
  to   = pod.b
  ttl  = 62
}

fault "a reflector is gone" {
  kind = "dead-daemon"
  node = node.rr1

  expect "the other one knows all the same" {
    from = local.clients
    to   = local.clients
  }
  expect "only its own pods are lost" {
    from    = local.clients
    to      = pod.on-rr1
    outcome = "timeout"
  }
}
