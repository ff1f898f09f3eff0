# What you will see: how a load balancer learns where to send packets. Under external
# traffic policy Local a node without a local endpoint drops them, so every node reports
# over HTTP how many it has: 200, or 503 when there is none. A terminating endpoint does
# not count, although it still serves.
#
#   laptop ──▶ node1:32123/healthz ──▶ 200, weight 2
#   laptop ──▶ node2:32123/healthz ──▶ 503: its only endpoint is terminating
#   laptop ──▶ node3:32123/healthz ──▶ 503: it has no endpoint
#
# What to try: netlab exec laptop -- curl -i 192.168.0.11:32123/healthz
#
# The proof: "a node with endpoints is healthy" and "a terminating endpoint does not
# count".

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

pod "web" {
  count  = 2
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "old" {
  node        = node.node2
  labels      = { app = "web" }
  terminating = true
  port "http" { port = 8080 }
}

service "web" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  health_check_node_port  = 32123
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "a node with endpoints is healthy" {
  from = client.laptop
  to   = "${node.node1.ip}:${service.web.health_check_node_port}"
  http {
    path   = "/healthz"
    status = 200
    header = {
      "Content-Type"                     = "application/json"
      "X-Content-Type-Options"           = "nosniff"
      "X-Load-Balancing-Endpoint-Weight" = "2"
    }
  }
}

expect "a terminating endpoint does not count" {
  from = client.laptop
  to   = "${node.node2.ip}:32123"
  http {
    status = 503
    header = { "X-Load-Balancing-Endpoint-Weight" = "0" }
  }
}

expect "but it still serves" {
  from   = client.laptop
  to     = "${node.node2.ip}:30080"
  answer = pod.old
  source = client.laptop.ip
}

expect "a node without endpoints is unhealthy" {
  from     = client.laptop
  to       = "${node.node3.ip}:32123"
  protocol = "http"
  http { status = 503 }
}

expect "and drops traffic" {
  from    = client.laptop
  to      = "${node.node3.ip}:30080"
  outcome = "timeout"
}

expect "the load balancer sends to the healthy node" {
  proves = ["articles.42"]
  from   = client.laptop
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = client.laptop.ip
}
