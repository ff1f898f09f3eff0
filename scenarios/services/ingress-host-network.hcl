# What you will see: an ingress controller in the network of its node, as many clusters without a
# load balancer have it: the node itself answers on port 80, so that no rules of a service hide
# the client, whatever the policy is. Pods of every node see the node, as which the controller
# connects.
#
#   laptop ──▶ node1:80 = controller (sees laptop) ──▶ blog or shop of any namespace
#
# Ingresses of several namespaces share the controller, each with services of its own namespace.
#
# What to try: netlab exec laptop -- curl http://blog.example/; give another ingress the same
# host and path, and see who tells you.
#
# The proof: "the node answers, and sees the client", "each ingress leads to its namespace", "what
# no rule matches", and "the same through the service".

node "node1" {}
node "node2" {}
client "laptop" {}

namespace "team" {
  for_each = toset(["blog", "shop"])
  name     = each.key
}

ingress_controller {
  nodes        = [node.node1]
  host_network = true
  service {
    type                    = "LoadBalancer"
    external_ips            = ["203.0.113.81"]
    external_traffic_policy = "Local"
    health_check_node_port  = 32000
    load_balancer_ip        = "203.0.113.80"
  }
}

ingress "team" {
  for_each  = namespace.team
  name      = "site"
  namespace = each.value
  labels    = { team = each.key }
  rule {
    host = "${each.key}.example"
    path { service = "web" }
  }
}

ingress "everything-else" {
  count     = 1
  namespace = namespace.team["blog"]
  default_backend {
    service = "web"
    port    = 80
  }
}

pod "web" {
  for_each  = namespace.team
  namespace = each.value
  node      = node.node2
  labels    = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  for_each  = namespace.team
  name      = "web"
  namespace = each.value
  selector  = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "the node answers, and sees the client" {
  from      = client.laptop
  to        = "${node.node1.ip}:80"
  answer    = pod.web["shop"]
  source    = node.node1
  forwarded = client.laptop.ip
  http { host = "shop.example" }
}

expect "each ingress leads to its namespace" {
  for_each = pod.web
  from     = client.laptop
  to       = "${each.key}.example:80"
  answer   = each.value
  protocol = "http"
}

expect "what no rule matches" {
  from   = client.laptop
  to     = "${node.node1.ip}:80"
  answer = pod.web["blog"]
  http { path = "/anything" }
}

expect "the same through the service" {
  from      = client.laptop
  to        = ["203.0.113.80:80", "203.0.113.81:80"]
  answer    = pod.web["blog"]
  forwarded = client.laptop.ip
  http { host = "blog.example" }
}

expect "the load balancer knows which node has a controller" {
  from = client.laptop
  to   = "${node.node2.ip}:32000"
  http { status = 503 }
}
