# What you will see: host-gw across two subnets, which cannot work. A plain route needs its
# next hop on the link. flannel therefore gives a node no route to the pods of a node behind
# a router; without the routes below, netlab warns of that. Written by hand on the nodes alone,
# a route leads to a router that knows no pods, and sends their packets to the outside. Only
# routes on the router, too, complete the path, in both directions: what BGP does by itself.
#
#   subnet default                         subnet b
#   n1 (web)  n2 (local) ──── router r ──── n3 (far)  n4 (known)
#
# What to try: netlab explain pod.local pod.far:80; netlab exec r -- ip route; mode =
# "vxlan", and every pod reaches every other one.
#
# The proof: "no route across the router", "the router knows no pods".

network { mode = "host-gw" }

subnet "b" {
  cidr = "192.168.1.0/24"
}

router "r" {
  link "eth0" { subnet = subnet.default }
  link "eth1" { subnet = subnet.b }
  routes = [
    { to = node.n1.pod_cidr, via = node.n1 },
    { to = node.n4.pod_cidr, via = node.n4 },
  ]
}

node "n1" {
  routes = [
    { to = node.n3.pod_cidr, via = router.r.link["eth0"].ip },
    { to = node.n4.pod_cidr, via = router.r.link["eth0"].ip },
  ]
}
node "n2" {}
node "n3" {
  subnet = subnet.b
  routes = [{ to = node.n1.pod_cidr, via = router.r.link["eth1"].ip }]
}
node "n4" {
  subnet = subnet.b
  routes = [{ to = node.n1.pod_cidr, via = router.r.link["eth1"].ip }]
}

pod "web" {
  node = node.n1
  port "http" { port = 80 }
}
pod "local" {
  node = node.n2
  port "http" { port = 80 }
}
pod "far" {
  node = node.n3
  port "http" { port = 80 }
}
pod "known" {
  node = node.n4
  port "http" { port = 80 }
}

expect "neighbours reach each other" {
  proves = ["articles.156"]
  from   = pod.local
  to     = pod.web
  ttl    = 62
}

expect "and in the other subnet" {
  from = pod.known
  to   = pod.far
  ttl  = 62
}

expect "no route across the router" {
  proves  = ["articles.156"]
  from    = [pod.local, node.n2]
  to      = [pod.far, pod.known]
  outcome = "timeout"
}

expect "the router knows no pods" {
  proves  = ["articles.156"]
  from    = pod.web
  to      = pod.far
  outcome = "timeout"
}

expect "a request arrives, its reply does not" {
  from    = pod.far
  to      = pod.web
  outcome = "timeout"
}

expect "unless somebody tells it" {
  from   = pod.web
  to     = pod.known
  source = pod.web
  ttl    = 61
}

expect "nodes reach nodes, which all routers know" {
  from    = node.n2
  to      = [node.n3, router.r]
  port    = 22
  outcome = "refused"
}
