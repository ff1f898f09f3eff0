# What you will see: a narrow link in the middle of the path. Pods get an MTU that fits the
# narrowest link between nodes, here 1400 less 50 for the tunnel, so that nothing has to be
# fragmented. A client knows nothing of that link. Its first full packet is too big for the
# router, which drops it and says so ("fragmentation needed"), and the client's kernel goes on
# with smaller ones: path MTU discovery.
#
#   subnet default (1500)        subnet wan (1400)        subnet b (1500)
#   n1 (web)   laptop ── west ───────────────────── east ── n2 (far)   office
#                                  10 Mbit/s
#
# What to try: netlab exec office -- ping -c 2 -M do -s 1400 192.168.0.11, and see who
# answers; netlab exec n1 -- ip link show cni0; and path-mtu-black-hole.hcl, where nobody answers.
#
# The proof: "pods fit the narrowest link", "the office finds out".

network { mode = "vxlan" }

subnet "wan" {
  cidr = "10.9.9.0/24"
  mtu  = 1450
}

subnet "b" {}

router "west" {
  link "lan" {}
  link "wan" {
    subnet = subnet.wan
    mtu    = 1400
    rate   = "10mbit"
  }
}

router "east" {
  link "wan" {
    subnet  = subnet.wan
    address = cidrhost(subnet.wan.cidr, 99)
    mtu     = 1400
  }
  link "lan" { subnet = subnet.b }
}

node "n1" {}
node "n2" {
  subnet = subnet.b
}

client "laptop" {
  port "http" { port = 80 }
}

client "office" {
  subnet = subnet.b
}

pod "web" {
  node   = node.n1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "far" {
  node = node.n2
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "pods fit the narrowest link" {
  from = pod.far
  to   = pod.web
  mtu  = 1350
}

expect "the office finds out" {
  from = client.office
  to   = client.laptop
  mtu  = 1400
}

expect "neighbours send full packets" {
  from = node.n1
  to   = client.laptop
  mtu  = 1500
}

expect "the pod behind a node port announces its own" {
  from = client.office
  to   = addr(node.n1.ip, 30080)
  mtu  = 1350
}

expect "routers are hosts, too" {
  from    = router.east
  to      = router.west
  port    = 22
  outcome = "refused"
}

expect "routers do not count inside the tunnel" {
  from = pod.far
  to   = pod.web
  ttl  = 62
}
