# What you will see: with externalTrafficPolicy = Cluster, the default, a node port
# answers on every node, including those without an endpoint. The price is the
# client's address: the addressed node masquerades, so that the reply comes back
# through it.
#
#   laptop ──▶ node1:31380 ──▶ web-0 on node1   sees the bridge of node1
#                         └──▶ web-1 on node2   sees the vxlan device of node1
#   laptop ──▶ node3:31380 ──▶ web-0, web-1     see the vxlan device of node3
#
# Masquerading uses the address of the outgoing interface; in mode host-gw the pods
# of other nodes would see the node's address on the underlay.
#
# What to try: netlab rules node3, and look for KUBE-MARK-MASQ in KUBE-EXT-…; then set
# external_traffic_policy = "Local" and run netlab up again.
#
# The proof: "a node without an endpoint answers too" and "the pods see the node, not
# the client".

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

pod "web" {
  for_each = { "0" = node.node1, "1" = node.node2 }
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
    node_port   = 31380
  }
  external_traffic_policy = "Cluster"
}

expect "every node answers, and every pod" {
  proves = ["articles.22", "articles.33", "articles.213"]
  from   = client.laptop
  to     = "${node.node1.ip}:31380"
  answer = pod.web
  source = node.node1
}

expect "a node without an endpoint answers too" {
  proves = ["articles.30", "articles.213"]
  from   = client.laptop
  to     = "${node.node3.ip}:31380"
  answer = pod.web
}

expect "the pods see the node, not the client" {
  proves = ["articles.29", "articles.274"]
  from   = client.laptop
  to     = "${node.node3.ip}:31380"
  answer = pod.web
  source = node.node3
}
