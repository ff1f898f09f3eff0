# What you will see: a trap of external traffic policy Local. A pod dials the node port
# of another node with its own address, because the pod network does not masquerade. The
# node treats it as pod traffic and picks from all endpoints without masquerading: a
# local endpoint replies through the node, but one on a third node replies to the pod
# directly, with a source address that matches no socket of the pod. See Kubernetes
# issue 74383.
#
#   shell (node3) ──▶ node1:30080 ──▶ here (node1)  ──▶ node1 ──▶ shell
#   shell (node3) ──▶ node1:30081 ──▶ there (node2) ──▶ shell: matches no socket
#
# What to try: etp-local-no-trap.hcl, where the pod network masquerades.
#
# The proof: "replies from a third node bypass the node port".

network {
  mode                    = "vxlan" # wireguard drops what a peer sends from addresses other than its pods'
  masquerade_node_traffic = false
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

expect "an endpoint of that node sees the pod" {
  from   = pod.shell
  to     = "${node.node1.ip}:30080"
  answer = pod.here
  source = pod.shell.ip
}

expect "replies from a third node bypass the node port" {
  from    = pod.shell
  to      = "${node.node1.ip}:30081"
  outcome = "timeout"
}

expect "its own node port works" {
  from   = pod.shell
  to     = "${node.node3.ip}:30081"
  answer = pod.there
  source = pod.shell.ip
}

expect "and so does it for outside clients" {
  from   = client.laptop
  to     = "${node.node2.ip}:30081"
  answer = pod.there
  source = client.laptop.ip
}
