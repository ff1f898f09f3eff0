# Kubernetes issue 71596: with externalTrafficPolicy = Local and proxy mode ipvs, only
# one connection in N got through on N nodes. The virtual server of the load balancer
# address had the endpoints of all nodes, yet nothing was masqueraded, so only a pod on
# the same node could answer. k8s-71596-local-policy-every-node.hcl shows the same in
# mode iptables.
#
# What you will see: the virtual server of each node has its own pod only. Outside
# connections are spread over all four nodes, all of them get through, and every pod
# sees the client's address. From inside, too, the node's own pod answers, unlike in
# mode iptables.
#
#                      ┌▶ node1 ─▶ web-0
#   laptop ─▶ VIP:80 ──┼▶ node2 ─▶ web-1
#                      ├▶ node3 ─▶ web-2
#                      └▶ node4 ─▶ web-3
#
# What to try: netlab exec node2 -- ipvsadm -Ln; netlab test --var nodes=3 on this file:
# node4 falls back to the pods of the others, which then see node4.
#
# The proof: "every connection gets through without masquerade".

proxy {
  mode = "ipvs"
}

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

expect "from inside, the address leads to the node's own pod" {
  from   = pod.web["0"]
  to     = "203.0.113.10:80"
  answer = pod.web["0"]
}
