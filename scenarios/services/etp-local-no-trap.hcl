# What you will see: etp-local-trap.hcl with a pod network that masquerades what pods
# send to nodes, as flannel does. The addressed node sees another node as the source
# and treats it as an outside client: local endpoints, or none.
#
#   shell (node3) ──▶ node1:30080 ──▶ here (node1), which sees node3
#   shell (node3) ──▶ node1:30081 ──▶ dropped: node1 has no endpoint of it
#
# What to try: etp-local-trap.hcl; the second connection fails there, too, but for
# another reason: netlab explain tells them apart.
#
# The proof: "an endpoint of that node sees the node".

network {
  masquerade_node_traffic = true
}

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

pod "here" {
  node   = node.node1
  labels = { app = "here" }
  port "http" { port = 8080 }
}

pod "there" {
  node   = node.node2
  labels = { app = "there" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node3
}

service "here" {
  type                    = "NodePort"
  selector                = { app = "here" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "there" {
  type                    = "NodePort"
  selector                = { app = "there" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

expect "an endpoint of that node sees the node" {
  from   = pod.shell
  to     = "${node.node1.ip}:30080"
  answer = pod.here
  source = node.node3.ip
}

expect "a node without endpoints drops" {
  from    = pod.shell
  to      = "${node.node1.ip}:30081"
  outcome = "timeout"
}

expect "its own node port is short-circuited" {
  from   = pod.shell
  to     = "${node.node3.ip}:30081"
  answer = pod.there
  source = pod.shell.ip
}

expect "outside clients reach the endpoint on its node" {
  from   = client.laptop
  to     = "${node.node2.ip}:30081"
  answer = pod.there
  source = client.laptop.ip
}
