# Kubernetes issue 71596: with externalTrafficPolicy = Local behind a load balancer, only
# one connection out of as many as there are nodes got through. The proxy of that time
# gave every node the endpoints of all nodes and yet left the client's address alone, so
# that only the pod of the own node could answer.
#
# What you will see: the outside spreads its connections over all four nodes, each hands
# them to its own pod, every one gets through, and every pod sees the client itself.
#
#                      ┌▶ node1 ─▶ web-0
#   laptop ─▶ VIP:80 ──┼▶ node2 ─▶ web-1
#                      ├▶ node3 ─▶ web-2
#                      └▶ node4 ─▶ web-3
#
# What to try: netlab explain -f scenarios/k8s-71596-local-policy-every-node.hcl laptop
# 203.0.113.10:80, and netlab rules node2: the chain KUBE-SVL-… of a node knows its own pod
# only. netlab test --var nodes=3 on this file: node4 has no pod and is silent, unless you
# remove via: then the outside routes to nodes with a pod only, as health checks tell it.
#
# The proof: "every connection gets through, and nobody is masqueraded".

variable "nodes" {
  type    = number
  default = 4
}

node "node1" {}
node "node2" {}
node "node3" {}
node "node4" {}

client "laptop" {}

pod "web" {
  count  = var.nodes
  node   = "node${count.index + 1}"
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  load_balancer {
    ip  = "203.0.113.10"
    via = [node.node1, node.node2, node.node3, node.node4]
  }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "every connection gets through, and nobody is masqueraded" {
  from   = client.laptop
  to     = "203.0.113.10:80"
  answer = pod.web
  source = client.laptop.ip
  count  = 200
}

expect "the node port of a node leads to its own pod" {
  from   = client.laptop
  to     = "${node.node3.ip}:30080"
  answer = pod.web["2"]
  source = client.laptop.ip
  count  = 20
}

expect "from inside, the address leads to every pod" {
  from   = pod.web["0"]
  to     = "203.0.113.10:80"
  answer = pod.web
}
