# What you will see: an ingress controller behind a load balancer that speaks the PROXY protocol.
# The rules of the nodes hide the client's address, and the header brings it back: the controller
# sees a node, and pods learn of the client that the load balancer names. With a tls block the
# controller has a certificate for the host, which every client in the lab trusts.
#
#   balancer ──▶ 203.0.113.80 ──▶ one of two controllers ──▶ web
#     "PROXY TCP4 198.51.100.7 …"      X-Forwarded-For: 198.51.100.7
#
# What to try: netlab exec balancer -- curl --haproxy-protocol https://shop.example/; the same
# without the option.
#
# The proof: "the header names the client" (both versions), "what a connection without it gets",
# "over TLS", and "no certificate, no request".

node "node1" {}
node "node2" {}
client "balancer" {}

ingress_controller {
  replicas       = 2
  proxy_protocol = true
  service {
    cluster_ip                  = "10.96.0.80"
    load_balancer_ip            = "203.0.113.80"
    load_balancer_source_ranges = ["192.168.0.0/24"]
    internal_traffic_policy     = "Local"
    port "https" { port = 8443 }
  }
}

ingress "shop" {
  name               = "shop"
  ingress_class_name = "nginx"
  tls {
    hosts       = ["shop.example", "*.shop.example"]
    secret_name = "shop-certificate"
  }
  rule {
    host = "shop.example"
    path { service = service.web }
  }
  rule {
    host = "*.shop.example"
    path { service = service.web }
  }
  rule {
    host = "plain.example"
    path { service = service.web }
  }
}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "the header names the client" {
  for_each  = { "1" = "198.51.100.7", "2" = "2001:db8::7" }
  from      = client.balancer
  to        = "shop.example:80"
  answer    = pod.web
  source    = ["10.244.0.0/16"]
  forwarded = each.value
  http {
    proxied_for    = each.value
    proxy_protocol = tonumber(each.key)
  }
}

expect "the controller itself sees the node that the connection came through" {
  from   = client.balancer
  to     = "shop.example:80"
  answer = ["ingress/ingress-controller-0", "ingress/ingress-controller-1"]
  source = node
  http {
    host        = "elsewhere.example"
    proxied_for = "198.51.100.7"
    status      = 404
  }
}

expect "over TLS" {
  for_each  = toset(["shop.example", "eu.shop.example"])
  from      = client.balancer
  to        = "shop.example:8443"
  answer    = pod.web
  forwarded = "198.51.100.7"
  http {
    host        = each.key
    tls         = true
    proxied_for = "198.51.100.7"
    status      = 200
  }
}

expect "what a connection without it gets" {
  from = client.balancer
  to   = "shop.example:80"
  http { response = false }
}

expect "no certificate, no request" {
  from = client.balancer
  to   = "shop.example:8443"
  http {
    host        = "plain.example"
    tls         = true
    proxied_for = "198.51.100.7"
    response    = false
  }
}
