# What you will see: VXLAN across two subnets. The router sees UDP between nodes and needs
# to know no pods, so every pod reaches every other one. With direct_routing, neighbours use
# plain routes and only the others the tunnel. The source of a node's own packets tells which
# one they took: the address of eth0, or that of flannel.1.
#
#   subnet default, 192.168.0.0/24             subnet b
#   n1 (web) ── plain route ── n2 ── router r ── n3 (far)     office
#        └────────── VXLAN, UDP 8472 ────────────┘
#
# What to try: netlab exec n1 -- ip route; netlab explain node.n1 pod.far:80, which shows the
# datagram on its way through the router; netlab exec r -- ip route, where no pod is.
#
# The proof: "a plain route to the neighbour", "a tunnel across the router".

network {
  mode = "vxlan"
  vxlan { direct_routing = true }
}

subnet "b" {}

router "r" {
  link "eth0" {}
  link "eth1" { subnet = subnet.b }
}

node "n1" {}
node "n2" {}
node "n3" {
  subnet = subnet.b
}

client "office" {
  subnet = subnet.b
}

pod "web" {
  node   = node.n1
  labels = { app = "web" }
  port "http" { port = 80 }
}
pod "near" {
  node   = node.n2
  labels = { app = "web" }
  port "http" { port = 80 }
}
pod "far" {
  node = node.n3
  port "http" { port = 80 }
}

service "web" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  load_balancer {
    ips = ["203.0.113.80"]
    via = [node.n1, node.n2]
  }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "every pod reaches every pod" {
  from   = [pod.web, pod.near, pod.far]
  to     = [pod.web, pod.near, pod.far]
  source = each.from.ip
}

expect "a plain route to the neighbour" {
  from   = node.n1
  to     = pod.near
  source = node.n1.ip
  mtu    = 1450
}

expect "a tunnel across the router" {
  from   = node.n1
  to     = pod.far
  source = cidrhost(node.n1.pod_cidr, 0)
  mtu    = 1450
}

expect "the tunnel leaves the inner TTL alone" {
  from = pod.web
  to   = [pod.near, pod.far]
  ttl  = 62
}

expect "a node port behind the router keeps the client's address" {
  from   = client.office
  to     = addr(node.n1.ip, 30080)
  answer = pod.web
  source = client.office
}

expect "a load balancer's address is routed across the router, too" {
  from   = client.office
  to     = addr(service.web.load_balancer_ip, 80)
  answer = [pod.web, pod.near]
  source = client.office
}

expect "the router itself is a host" {
  from   = router.r
  to     = addr(node.n2.ip, 30080)
  source = router.r
}
