# What you will see: a pod network that ends at the node. Pods of one node reach each
# other over their bridge, and outside hosts with their node's address; no node has a
# route to the pods of the other, so packets to them go to the default gateway and are
# lost. Services work by chance: when the chosen endpoint is on the same node.
#
#   a (node1) ──▶ cni0 ──▶ eth0 ── default via the gateway ──▶ lost        b (node2)
#
# What to try: netlab exec node1 -- ip route get the address of b; give each node a
# static route, routes = [{ to = node.node2.pod_cidr, via = node.node2.ip }], which
# makes it pod-to-pod-host-gw.hcl; netlab reach shows who reaches whom.
#
# The proof: "no route to the other node's pods", next to "pods of one node".

network {
  mode = "none"
}

node "node1" {}
node "node2" {}

client "laptop" {
  port "http" { port = 80 }
}

pod "a" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "neighbour" {
  node = node.node1
  port "http" { port = 8080 }
}

pod "b" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  internal_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "b-alone" {
  endpoint {
    pod = pod.b
  }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "pods of one node" {
  from   = [pod.a, pod.neighbour]
  to     = [pod.a, pod.neighbour]
  port   = "http"
  source = each.from.ip
}

expect "no route to the other node's pods" {
  from    = [pod.a, pod.neighbour, node.node1]
  to      = pod.b
  port    = "http"
  outcome = "timeout"
}

expect "a node has a route to its own pods" {
  from = node.node2
  to   = pod.b
  port = "http"
}

expect "pods leave with their node's address" {
  from   = [pod.a, pod.b]
  to     = client.laptop
  port   = "http"
  source = node[each.from.node]
}

expect "a service that stays on the node" {
  from   = pod.a
  to     = service.web
  answer = pod.a
  source = node.node1
}

expect "and from outside" {
  from   = client.laptop
  to     = "${node.node2.ip}:30080"
  answer = pod.b
  source = client.laptop
}

expect "a service with its endpoint on the other node" {
  from    = pod.a
  to      = service.b-alone
  outcome = "timeout"
}

expect "which answers on its own node" {
  from   = pod.b
  to     = service.b-alone
  answer = pod.b
}
