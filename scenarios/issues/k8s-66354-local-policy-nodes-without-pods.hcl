# What you will see: Kubernetes issue 66354, "externalTrafficPolicy=Local makes it
# unable to reach externalIP from nodes without pods". Since kube-proxy balances
# connections from the node itself over all endpoints, processes reach the service from
# any node. Only outside clients get no answer at such a node, as the policy requires.
#
#   node2 ──▶ VIP                ──▶ web (node1), which sees node2
#   laptop ──▶ node2:30080       ──▶ dropped
#
# What to try: netlab rules node2, and look for "route LOCAL traffic".
#
# The proof: "a node without pods reaches the address".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
}

service "web" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "a node without pods reaches the address" {
  from   = node.node2
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = node.node2
}

expect "and its own node port" {
  from   = node.node2
  to     = "${node.node2.ip}:30080"
  answer = pod.web
  source = node.node2
}

expect "another node's node port as an outside client" {
  from   = node.node2
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = node.node2.ip
}

expect "but not where no pod is local" {
  from    = node.node1
  to      = "${node.node2.ip}:30080"
  outcome = "timeout"
}

expect "outside clients get no answer there" {
  from    = client.laptop
  to      = "${node.node2.ip}:30080"
  outcome = "timeout"
}

expect "outside clients are routed to the node with the pod" {
  from   = client.laptop
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = client.laptop.ip
}
