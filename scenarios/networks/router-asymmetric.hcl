# What you will see: several routers between two subnets. Hosts spread their connections over
# the nearest of them, as with OSPF, and replies choose anew. Routers that look at no source do
# not mind, not even where all requests go one way and all replies another. With rp_filter a
# router does: it drops a packet that came in by another link than the one that it would answer
# by.
#
#   subnet default             subnet b
#        n1 ──┬───── r-0 ──────┬── shop
#             ├───── r-1 ──────┼── branch (sends by r-0, is answered by r-1)
#             └── picky ───────┴── guest  (sends by picky, which would answer by r-0)
#
# What to try: netlab exec n1 -- ip route, with three next hops; netlab explain client.branch
# node.n1:22, which names the routers of both directions; rp_filter = false for picky.
#
# The proof: "three ways, and all work", "a strict router drops it".

network { mode = "host-gw" }

subnet "b" {}

router "r" {
  count = 2
  link "a" {}
  link "b" { subnet = subnet.b }
}

router "picky" {
  link "a" {}
  link "b" { subnet = subnet.b }
  routes    = [{ to = "${client.guest.ip}/32", via = router.r[0].link["a"].ip }]
  rp_filter = true
}

node "n1" {
  routes = [{ to = "${client.branch.ip}/32", via = router.r[1].link["a"].ip }]
}

client "shop" {
  subnet = subnet.b
}

client "branch" {
  subnet = subnet.b
  routes = [{ to = "${node.n1.ip}/32", via = router.r[0].link["b"].ip }]
}

client "guest" {
  subnet = subnet.b
  routes = [{ to = "${node.n1.ip}/32", via = router.picky.link["b"].ip }]
}

pod "web" {
  node   = node.n1
  labels = { app = "web" }
  port "http" { port = 80 }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "three ways, and all work" {
  from = client.shop
  to   = addr(node.n1.ip, 30080)
}

expect "one way there, another back" {
  from = client.branch
  to   = addr(node.n1.ip, 30080)
}

expect "a strict router drops it" {
  from    = client.guest
  to      = addr(node.n1.ip, 30080)
  outcome = "timeout"
}
