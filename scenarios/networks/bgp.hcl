# What you will see: Calico's nodes with BGP. Each has a speaker, which tells all others which
# block of pod addresses it has (a full mesh in AS 64512), and the routes that it learns are
# in the kernel (proto bgp). A router outside, in an AS of its own, peers with its neighbours:
# so it knows where the pods are, and a client behind it reaches them by their addresses.
#
#   subnet default, AS 64512                         subnet b, AS 64512
#   node1 (a)  node2 (b)  node3 ── tor, AS 64513 ── node4 (far)   desk
#
# node4 is behind the router: its address is not on the link of the others. They have a route
# to its block all the same, via the router, which has learned the block from node4. Without
# the router's bgp block they have none, as in subnets-host-gw.hcl.
#
# What to try: netlab exec node1 -- ip route show proto bgp; netlab exec tor -- ip route;
# netlab inspect; netlab exec node1 -- ss -tn; netlab plan, where the routes are marked as
# learned; netlab up --fault "a firewall in front of node1" FILE, and netlab inspect again.
#
# The proof: "every pod reaches every pod, unchanged", "the office reaches pods by their
# addresses", and how it looks when a speaker has ended, and when port 179 of a node is closed.

network {
  mode = "routed"
  bgp { as = 64512 }
}

subnet "b" {}

router "tor" {
  link "eth0" {}
  link "eth1" { subnet = subnet.b }
  bgp { as = 64513 }
}

node "node1" {}
node "node2" {}
node "node3" {}
node "node4" { subnet = subnet.b }

client "desk" {
  subnet = subnet.b
  routes = [{ to = "10.244.0.0/16", via = router.tor.link["eth1"].ip }]
}

pod "a" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}
pod "b" {
  node = node.node2
  port "http" { port = 80 }
}
pod "far" {
  node = node.node4
  port "http" { port = 80 }
}

service "web" {
  selector = { app = "web" }
  port "http" { port = 80 }
}

locals { pods = [pod.a, pod.b, pod.far] }

expect "every pod reaches every pod, unchanged" {
  proves = ["articles.146"]
  from   = local.pods
  to     = local.pods
  source = each.from.ip
}

expect "a router is on the way to node4" {
  proves = ["articles.147"]
  from   = pod.a
  to     = pod.far
  ttl    = 61
}

expect "by routes of the main table, chosen by destination alone" {
  proves = ["articles.146", "articles.147"]
  dynamic "route" {
    for_each = { b = { node = node.node2, via = node.node2.ip }, far = { node = node.node4, via = router.tor.link["eth0"].ip } }
    content {
      on  = node.node1
      to  = route.value.node.pod_cidr
      via = route.value.via
    }
  }
  run {
    on      = node.node1
    command = ["ip", "rule"]
    matches = "^0:\\s+from all lookup local\\s*\n32766:\\s+from all lookup main\\s*\n32767:\\s+from all lookup default\\s*$"
  }
}

expect "the office reaches pods by their addresses" {
  from   = client.desk
  to     = local.pods
  source = client.desk
}

expect "services need no more" {
  from   = pod.far
  to     = service.web
  source = pod.far
}

expect "a speaker talks to its peers only" {
  from    = client.desk
  to      = "${node.node1.ip}:179"
  outcome = "reset"
}

fault "the speaker of node2 is gone" {
  kind = "dead-daemon"
  node = node.node2

  expect "all others have withdrawn the routes to its pods" {
    proves  = ["articles.146", "articles.159"]
    from    = [pod.a, pod.far, client.desk]
    to      = pod.b
    outcome = "timeout"
  }
  expect "the routes that it had learned are still there, but nobody can answer" {
    from    = pod.b
    to      = pod.a
    outcome = "timeout"
  }
  expect "the others do not notice" {
    from = [pod.a, pod.far]
    to   = [pod.a, pod.far]
  }
}

# The other nodes have higher addresses than node1, so they are the ones that connect. The
# router has a lower one: that session is the other way round, and lives on.
fault "a firewall in front of node1" {
  kind     = "blocked-port"
  node     = node.node1
  protocol = "tcp"
  port     = 179

  expect "node1 is alone when the hold time is over" {
    from    = pod.a
    to      = [pod.b, pod.far]
    outcome = "timeout"
  }
  expect "for everybody" {
    from    = [pod.b, pod.far]
    to      = pod.a
    outcome = "timeout"
  }
  expect "but for the office, since node1 connects to the router" {
    from = client.desk
    to   = pod.a
  }
  expect "the others do not notice" {
    from = [pod.b, pod.far]
    to   = [pod.b, pod.far]
  }
}
