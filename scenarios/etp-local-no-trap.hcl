# What you will see: etp-local-trap.hcl with a pod network that masquerades what pods
# send to nodes, as flannel does. The node sees another node and treats it as the
# outside: its own endpoints, or none.
#
#   shell (node3) ──▶ node1:30080 ──▶ here (node1), which sees node3
#   shell (node3) ──▶ node1:30081 ──▶ silence: node1 has no endpoint of it
#
# What to try: etp-local-trap.hcl; the outcome of the second is the same and its reason
# another: netlab explain tells them apart.
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

expect "its own node port takes the short cut" {
  from   = pod.shell
  to     = "${node.node3.ip}:30081"
  answer = pod.there
  source = pod.shell.ip
}

expect "the outside reaches the endpoint on its node" {
  from   = client.laptop
  to     = "${node.node2.ip}:30081"
  answer = pod.there
  source = client.laptop.ip
}
