# What you will see: node ports that do not answer on the loopback address, as with
# kube-proxy's --iptables-localhost-nodeports=false. No process listens on 127.0.0.1, so
# the kernel refuses; the other addresses of the node answer.
#
#   node1 ──▶ 127.0.0.1:30080    ──▶ refused
#   node1 ──▶ 192.168.0.11:30080 ──▶ web
#
# What to try: localhost-node-port.hcl; compare netlab rules node1.
#
# The proof: "the loopback address refuses".

proxy {
  local_node_ports = false
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

expect "the loopback address refuses" {
  from    = node.node1
  to      = "127.0.0.1:30080"
  outcome = "refused"
}

expect "the node's own address answers" {
  from   = node.node1
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = node.node1
}
