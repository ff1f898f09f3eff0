# What you will see: Kubernetes issue 74839, connections to services that were reset now
# and then. A packet of the pod that conntrack finds invalid, because it came too late,
# is not translated back; it would reach the client with the pod's address, and the
# client would reset a connection that is none. The first rule of KUBE-FORWARD drops what
# is invalid, so that the pod sends it again. Here the same rule ends a connection that
# was answered past the node that translated it.
#
#   shell ──▶ node1:30080 ──▶ web (node2) ──▶ shell: SYN-ACK of nobody, dropped on node3
#
# What to try: netlab rules node3, and look for ctstate INVALID.
#
# The proof: "what is invalid is dropped, not reset"; "nothing valid is lost" is the
# control.

network {
  masquerade_node_traffic = false
}

node "node1" {}
node "node2" {}
node "node3" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node3
}

service "web" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "what is invalid is dropped, not reset" {
  from    = pod.shell
  to      = "${node.node1.ip}:30080"
  outcome = "timeout"
}

expect "nothing valid is lost" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell.ip
  count  = 200
}
