# What you will see: a way into a cluster that is made of all others. Pods of an ingress controller
# are behind a node port, the same on each node, which a balancer outside would dial. They lead each
# request, by its path, to one of three services, each with a cluster IP and pods of its own. The
# port 23456 is not in the range that node ports have by default, so the range is given here.
#
#   office ──▶ any node:23456 ──▶ ingress ──/──────▶ web:80  ──▶ web
#                                         ──/cart──▶ cart:80 ──▶ cart
#                                         ──/pay───▶ pay:80  ──▶ pay
#
# What to try: remove node_port_range, and see what netlab validate says; netlab explain office
# node2:23456; netlab up, and netlab exec office -- curl -s http://192.168.0.12:23456/cart.
#
# The proof: "three services behind one port" and "a service does not read requests".

network { mode = "host-gw" }

proxy { node_port_range = "20000-32767" }

node "node1" {}
node "node2" {}

client "office" {}

ingress_controller {
  nodes = [node.node1]
  service {
    type = "NodePort"
    port "http" {
      node_port = 23456
    }
  }
}

ingress "shop" {
  rule {
    path {
      path    = "/"
      service = service.app["web"]
    }
    path {
      path    = "/cart"
      service = service.app["cart"]
    }
    path {
      path    = "/pay"
      service = service.app["pay"]
    }
  }
}

locals {
  paths = { "/" = "web", "/cart" = "cart", "/pay" = "pay" }
}

pod "app" {
  for_each = toset(values(local.paths))
  name     = each.key
  labels   = { app = each.key }
  port "http" { port = 8080 }
}

service "app" {
  for_each = toset(values(local.paths))
  name     = each.key
  selector = { app = each.key }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "three services behind one port" {
  for_each = local.paths
  proves   = ["articles.217", "articles.218", "articles.223"]
  from     = client.office
  to       = ["${node.node1.ip}:23456", "${node.node2.ip}:23456"]
  answer   = pod.app[each.value]
  http { path = each.key }
}

expect "a service does not read requests" {
  for_each = local.paths
  proves   = ["articles.217", "articles.223"]
  from     = node.node2
  to       = service.app["web"]
  answer   = pod.app["web"]
  http { path = each.key }
}
