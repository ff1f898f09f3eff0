# What you will see: a pod that connects to its own service and is itself the chosen
# endpoint. The packet leaves and returns through the same veth, and its source must
# be rewritten: a pod that saw its own address would reply to itself, and the reply
# would never pass the node, which has to undo the DNAT.
#
#   web ──▶ cluster IP ──▶ node1: DNAT to web, masquerade ──▶ web, from 10.244.1.1
#
# What to try: netlab exec web -- nc 10.96.x.y 80, with the address that netlab inspect
# shows; netlab exec node1 -- bridge -d link, and look for hairpin on; in KUBE-SEP-…
# of netlab rules node1, the rule with the pod as source.
#
# The proof: "the pod reaches itself and sees its bridge".

network {
  mode = "host-gw" # pods share a bridge, whose address is seen below
}

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
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

expect "the pod reaches itself and sees its bridge" {
  proves = ["articles.47", "articles.271"]
  from   = pod.web
  to     = service.web
  answer = pod.web
  source = cidrhost(node.node1.pod_cidr, 1)
}

expect "the same through the node port of its own node" {
  from   = pod.web
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = cidrhost(node.node1.pod_cidr, 1)
}

expect "without the service nothing is rewritten" {
  from   = pod.web
  to     = pod.web
  answer = pod.web
  source = pod.web.ip
}

expect "another pod keeps its address" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell.ip
}
