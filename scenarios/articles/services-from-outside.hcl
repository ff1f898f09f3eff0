# What you will see: what of a service can be reached from outside of the cluster. Its cluster IP
# cannot, since no router there knows a way; who has one, by way of a node, gets through and is
# masqueraded. Its node port can, at every node, and under traffic policy Cluster the pods share
# the connections alike, however many of them a node has.
#
#   office ──▶ 10.96.0.80:80 ──▶ ✗                 no route
#   lab    ──▶ 10.96.0.80:80 ──via node1──▶ web sees node1
#   office ──▶ node1:30xxx ──▶ a quarter for each of four pods, three of them on node2
#
# What to try: netlab inspect services-from-outside, which shows the node port; netlab explain lab
# 10.96.0.80:80; netlab test on this file with --matrix proxy=nftables.
#
# The proof: "the cluster IP is nowhere outside", "unless one has a route", "a node port by itself"
# and "every pod gets a quarter".

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

client "office" {}

client "lab" {
  routes = [{ to = "10.96.0.0/16", via = node.node1.ip }]
}

pod "one" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "three" {
  count  = 3
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  type       = "NodePort"
  cluster_ip = "10.96.0.80"
  selector   = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

locals {
  node_port = service.web.node_port["http"]
  in_range  = local.node_port >= 30000 && local.node_port <= 32767
}

expect "the cluster IP is nowhere outside" {
  proves  = ["articles.9", "articles.19", "articles.212"]
  from    = client.office
  to      = service.web
  outcome = "timeout"
}

expect "unless one has a route" {
  proves = ["articles.9", "articles.212"]
  from   = client.lab
  to     = service.web
  answer = [pod.one, pod.three[0], pod.three[1], pod.three[2]]
  source = node.node1
}

expect "a node port by itself" {
  proves  = ["articles.20"]
  from    = client.office
  to      = ["${node.node1.ip}:${local.node_port}", "${node.node2.ip}:${local.node_port}"]
  outcome = local.in_range ? "connected" : "timeout"
}

expect "and no other" {
  proves  = ["articles.36"]
  from    = client.office
  to      = "${node.node1.ip}:3138"
  outcome = "refused"
}

expect "every pod gets a quarter" {
  proves = ["articles.31"]
  from   = client.office
  to     = "${node.node1.ip}:${local.node_port}"
  answer = [pod.one, pod.three[0], pod.three[1], pod.three[2]]
  source = node.node1
  spread { tolerance = 0.5 }
}
