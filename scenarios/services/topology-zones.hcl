# What you will see: traffic that stays in its zone. With trafficDistribution
# PreferClose (now PreferSameZone) every endpoint has its own zone as its hint, and a
# node uses only endpoints hinted for its zone. A node whose zone has none uses all, and
# one missing hint makes every node ignore them.
#
#   near (zone a) ──▶ web-a          far (zone c, no endpoint) ──▶ web-a or web-b
#
# What to try: remove the zone of node2: its endpoint has no hint, and every node uses
# all.
#
# The proof: "a pod stays in its zone" and "a zone without endpoints uses all"; "one
# missing hint switches hints off" is the control.

node "node1" { zone = "a" }
node "node2" { zone = "b" }
node "node3" {
  labels = { "topology.kubernetes.io/zone" = "c" }
}

client "laptop" {}

pod "web" {
  for_each = { a = node.node1.name, b = node.node2.name }
  node     = each.value
  labels   = { app = "web" }
  port "http" { port = 8080 }
}

pod "near" {
  node = node.node1
}

pod "far" {
  node = node.node3
}

service "web" {
  type                 = "NodePort"
  selector             = { app = "web" }
  traffic_distribution = "PreferClose"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "mixed" {
  port "http" {
    port        = 80
    target_port = "http"
  }
  endpoint {
    pod = pod.web["a"]
    hints { zones = ["a"] }
  }
  endpoint {
    pod = pod.web["b"]
  }
}

service "shared" {
  port "http" {
    port        = 80
    target_port = "http"
  }
  endpoint {
    pod = pod.web["a"]
    hints { zones = ["a", "b"] }
  }
  endpoint {
    pod = pod.web["b"]
    hints { zones = ["c"] }
  }
}

expect "a pod stays in its zone" {
  from   = [pod.near, node.node1]
  to     = service.web
  answer = pod.web["a"]
  count  = 20
}

expect "the other zone uses its own" {
  from   = node.node2
  to     = service.web
  answer = pod.web["b"]
  count  = 20
}

expect "a zone without endpoints uses all" {
  from   = [pod.far, node.node3]
  to     = service.web
  answer = pod.web
}

expect "for outside clients the addressed node decides" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web["a"]
  count  = 20
}

expect "one missing hint switches hints off" {
  from   = [pod.near, node.node2]
  to     = service.mixed
  answer = pod.web
}

expect "an endpoint may serve several zones" {
  from   = [node.node1, node.node2]
  to     = service.shared
  answer = pod.web["a"]
  count  = 20
}

expect "and another one the third" {
  from   = pod.far
  to     = service.shared
  answer = pod.web["b"]
  count  = 20
}
