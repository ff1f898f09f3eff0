# What you will see: Kubernetes issue 74839, connections to services that were reset now
# and then. A late packet from the pod that conntrack classifies as invalid is not
# translated back; it would reach the client with the pod's address, and the client
# would answer with a reset. The first rule of KUBE-FORWARD drops invalid packets, so
# that the pod retransmits. Here the same rule stops a connection whose replies bypass
# the node that did the DNAT.
#
#   shell ──▶ node1:30080 ──▶ web (node2) ──▶ shell: unmatched SYN-ACK, dropped on node3
#
# What to try: netlab rules node3, and look for ctstate INVALID.
#
# The proof: "invalid packets are dropped, not reset", by the rule that counts them: they come
# to the node and not to the pod. "no valid packet is lost" is the control.

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

expect "invalid packets are dropped, not reset" {
  proves  = ["articles.51"]
  from    = pod.shell
  to      = "${node.node1.ip}:30080"
  outcome = "timeout"
  rules {
    on      = node.node3
    table   = "filter"
    chain   = "KUBE-FORWARD"
    has     = "--ctstate INVALID"
    counted = "some"
  }
  seen {
    on          = node.node3
    direction   = "in"
    source      = "${pod.web.ip}:8080" # not translated back
    destination = pod.shell
  }
  seen {
    on     = pod.shell
    source = "${pod.web.ip}:8080"
    absent = true
  }
}

expect "no valid packet is lost" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell.ip
  count  = 200
}
