# What you will see: four ways in which routes between nodes break, each staged, tried and put right
# again. A missing route back: requests arrive, replies do not, so that both directions are silent.
# A stale route to a node that is gone. A next hop that is not on the link, which only onlink accepts.
# And strict reverse path filtering, which breaks what worked: node1 sends packets for b bare, by a
# route of its own, node2 would send them through the tunnel, so that they come in by another link than
# the one that leads back.
#
# What to try: netlab up --fault "strict filter" FILE, then netlab explain a b.
#
# The proof: "sound", and below each fault how it shows.

node "node1" {
  routes = [{ to = "10.244.2.0/24", via = "192.168.0.12" }]
}

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
  from = [pod.a, pod.b, pod.c]
  to   = [pod.a, pod.b, pod.c]
}

fault "no route back" {
  kind    = "missing-route"
  node    = node.node3
  towards = node.node2

  expect "requests of b arrive at c, replies do not" {
    from    = pod.b
    to      = pod.c
    outcome = "timeout"
  }

  expect "requests of c leave by the default route" {
    from    = pod.c
    to      = pod.b
    outcome = "timeout"
  }

  expect "others reach both" {
    from = pod.a
    to   = [pod.b, pod.c]
  }
}

fault "stale route" {
  kind    = "stale-route"
  node    = node.node3
  towards = node.node2

  expect "nobody answers there" {
    from    = pod.c
    to      = pod.b
    outcome = "timeout"
  }
}

fault "next hop off the link" {
  for_each = toset(["node2"])
  name     = "next hop of ${each.key} off the link"
  kind     = "off-link-next-hop"
  node     = node.node3
  towards  = node[each.key]

  expect "nobody answers its ARP requests" {
    from    = pod.c
    to      = pod.b
    outcome = "timeout"
  }
}

fault "strict filter" {
  kind = "strict-rp-filter"
  node = node.node2

  expect "node2 drops what comes in by the wrong link" {
    from    = pod.a
    to      = pod.b
    outcome = "timeout"
  }

  expect "what comes through the tunnel passes" {
    from = pod.c
    to   = pod.b
  }
}
