# What you will see: node ports on the loopback address. A process on a node reaches
# them at 127.0.0.1; the packet must leave with another source, so the node masquerades
# it, and route_localnet makes the kernel route the loopback range. That exposes the
# range to neighbours, which the rule in KUBE-FIREWALL prevents.
#
#   node1 ──▶ 127.0.0.1:30080 ──▶ web on any node, which sees node1
#
# What to try: localhost-node-port-off.hcl; netlab exec node1 -- nc 127.0.0.1 30080
#
# The proof: "the loopback address answers".

proxy {
  local_node_ports = true
}

node "node1" {}
node "node2" {}

pod "web" {
  for_each = { "0" = node.node1.name, "1" = node.node2.name }
  node     = each.value
  labels   = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "the loopback address answers" {
  from   = node.node1
  to     = "127.0.0.1:30080"
  answer = pod.web
  source = node.node1
}

expect "on every node" {
  from   = node.node2
  to     = "127.0.0.1:30080"
  answer = pod.web
  source = node.node2
}

expect "the node's own address answers" {
  from   = node.node1
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = node.node1
}
