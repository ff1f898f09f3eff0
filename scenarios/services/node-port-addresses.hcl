# What you will see: node ports on some of a node's addresses only. With
# node_port_addresses they answer on addresses inside these prefixes; the others, here
# the pod bridge and the loopback address, refuse.
#
#   shell (node1) ──▶ 192.168.0.11:30080 ──▶ web
#   shell (node1) ──▶ 10.244.1.1:30080   ──▶ refused
#
# What to try: remove node_port_addresses; every address of the node answers.
#
# The proof: "the address of the bridge refuses".

network {
  mode = "host-gw" # pods share a bridge, whose address is asked below
}

proxy {
  node_port_addresses = ["192.168.0.0/24"]
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
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

expect "the address on the underlay answers" {
  from   = [client.laptop, pod.shell]
  to     = "${node.node1.ip}:30080"
  answer = pod.web
}

expect "the address of the bridge refuses" {
  from    = pod.shell
  to      = "${cidrhost(node.node1.pod_cidr, 1)}:30080"
  outcome = "refused"
}

expect "so does the loopback address" {
  from    = node.node1
  to      = "127.0.0.1:30080"
  outcome = "refused"
}
