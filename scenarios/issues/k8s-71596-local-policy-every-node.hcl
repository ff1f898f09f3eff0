# Kubernetes issue 71596: with externalTrafficPolicy = Local behind a load balancer,
# only one connection in N got through on N nodes. The kube-proxy of that time gave
# every node the endpoints of all nodes yet kept the client's address, so only a pod on
# the same node could answer.
#
# What you will see: outside connections are spread over all four nodes, each node sends
# them to its own pod, all get through, and every pod sees the client's address.
#
#                      ┌▶ node1 ─▶ web-0
#   laptop ─▶ VIP:80 ──┼▶ node2 ─▶ web-1
#                      ├▶ node3 ─▶ web-2
#                      └▶ node4 ─▶ web-3
#
# What to try: netlab explain -f scenarios/issues/k8s-71596-local-policy-every-node.hcl
# laptop 203.0.113.10:80, and netlab rules node2: the chain KUBE-SVL-… of a node has its
# own pod only. netlab test --var nodes=3 on this file: node4 has no pod and drops,
# unless you remove via: then traffic is routed only to nodes with a pod, as health
# checks would do.
#
# The proof: "every connection gets through without masquerade".

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

expect "every connection gets through without masquerade" {
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
