# What you will see: policy Local behind a load balancer. The balancer is fair to nodes, not
# to pods: node1 has one pod and gets half of the connections, the three pods of node2 share
# the other half. What protects it from nodes without a pod is the health check: each node
# says over HTTP how many it has, and node3 gets nothing.
#
#                 ┌─ 1/2 ─▶ node1 ──▶ one            half of all
#   laptop ──▶ VIP├─ 1/2 ─▶ node2 ──▶ three[0…2]     a sixth each
#                 └─   ✗    node3     503: no endpoint
#
# What to try: netlab explain laptop 203.0.113.80:80; set external_traffic_policy to Cluster, remove
# health_check_node_port, and explain again: all four alike, and the laptop is seen no more.
#
# The proof: "half for one, half for three", "the client is seen", "node3 is unhealthy" and
# "without the check, it would drop".

network { mode = "host-gw" }

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

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
  type                    = "LoadBalancer"
  load_balancer_ip        = "203.0.113.80"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  health_check_node_port  = 32000
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "half for one, half for three" {
  proves = ["articles.28"]
  from   = client.laptop
  to     = "${service.web.load_balancer_ip}:80"
  answer = [pod.one, pod.three[0], pod.three[1], pod.three[2]]
  spread {
    weights   = { "one" = 3, "three-0" = 1, "three-1" = 1, "three-2" = 1 }
    tolerance = 0.4 # a quarter for each would be within a half
  }
}

expect "the client is seen" {
  proves = ["articles.43"]
  from   = client.laptop
  to     = "${service.web.load_balancer_ip}:80"
  source = client.laptop.ip
}

expect "nodes with pods are healthy" {
  from = client.laptop
  to   = ["${node.node1.ip}:32000", "${node.node2.ip}:32000"]
  http { status = 200 }
}

expect "node3 is unhealthy" {
  proves = ["articles.42"]
  from   = client.laptop
  to     = "${node.node3.ip}:32000"
  http { status = 503 }
}

expect "without the check, it would drop" {
  from    = client.laptop
  to      = "${node.node3.ip}:30080"
  outcome = "timeout"
}
