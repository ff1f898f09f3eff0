# What you will see: trafficDistribution PreferSameNode. A node with an endpoint uses
# its own; a node without one uses those of its zone, and one whose zone has none uses
# all. Unlike internalTrafficPolicy Local nothing is dropped.
#
#   node1 (zone a) ──▶ web-1          node3 (zone a, none) ──▶ web-1 or web-2
#   node4 (zone b) ──▶ web-4          node5 (zone c, none) ──▶ any
#
# What to try: set traffic_distribution = "PreferSameZone"; node1 then uses web-2, too.
#
# The proof: "a node with an endpoint uses it" and "a node without one stays in its
# zone".

node "node1" { zone = "a" }
node "node2" { zone = "a" }
node "node3" { zone = "a" }
node "node4" { zone = "b" }
node "node5" { zone = "c" }

pod "web" {
  for_each = { "1" = node.node1.name, "2" = node.node2.name, "4" = node.node4.name }
  node     = each.value
  labels   = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  selector             = { app = "web" }
  traffic_distribution = "PreferSameNode"
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "a node with an endpoint uses it" {
  from   = [pod.shell, node.node1]
  to     = service.web
  answer = pod.web["1"]
  count  = 20
}

expect "each its own" {
  from   = node.node2
  to     = service.web
  answer = pod.web["2"]
  count  = 20
}

expect "a node without one stays in its zone" {
  from   = node.node3
  to     = service.web
  answer = [pod.web["1"], pod.web["2"]]
}

expect "a zone without endpoints uses all" {
  from   = node.node5
  to     = service.web
  answer = pod.web
}
