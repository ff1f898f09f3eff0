# What you will see: an Ingress leads HTTP requests by host and path to services. The controller
# is a pod behind a Service of type LoadBalancer, so each request is two connections: one
# through the rules of that Service, and one from the controller straight to an endpoint.
#
#   laptop ──▶ 203.0.113.80:80 ──▶ controller ──▶ web-0, web-1 or cart
#
# With external_traffic_policy = "Cluster" the controller sees a node; in ingress-local.hcl it
# sees the client. The pods always see the controller, and learn the rest from X-Forwarded-For.
#
# What to try: netlab plan shows every route of the controller; netlab up, then
# netlab exec laptop -- curl http://shop.example/cart; remove a pod, up again: the controller
# goes on with the other endpoints.
#
# The proof: "the longest path wins", "a prefix is made of whole elements", "whom the controller
# sees", "pods see the controller", "another endpoint is tried if one refuses", and what no route is for.

node "node1" {}
node "node2" {}

client "laptop" {}

ingress_controller {
  nodes = [node.node1]
  service {
    load_balancer_ip = "203.0.113.80"
    load_balancer { via = [node.node2] }
  }
}

ingress "shop" {
  rule {
    host = "shop.example"
    path {
      path    = "/"
      service = service.web
    }
    path {
      path    = "/cart"
      service = service.cart
      port    = "http"
    }
    path {
      path      = "/cart/help"
      path_type = "Exact"
      service   = service.web
    }
    path {
      path    = "/half"
      service = service.half
    }
    path {
      path    = "/sold-out"
      service = service.empty
    }
  }
  rule {
    host = "*.shop.example"
    path {
      service = service.cart
      port    = 80
    }
  }
}

pod "web" {
  count  = 2
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

pod "cart" {
  node   = node.node2
  labels = { app = "cart" }
  port "http" { port = 8080 }
  port "admin" { port = 9090 }
}

service "cart" {
  selector = { app = "cart" }
  port "http" {
    port        = 80
    target_port = "http"
  }
  port "admin" { port = 9090 }
}

pod "empty" {
  node   = node.node2
  labels = { app = "empty" }
  ready  = false
  port "http" { port = 80 }
}

service "empty" {
  selector = { app = "empty" }
  port "http" { port = 80 }
}

# Nobody listens at the second endpoint: connections are refused there.
service "half" {
  port "http" { port = 80 }
  endpoint {
    pod  = pod.cart
    port = 8080
  }
  endpoint {
    pod  = pod.shell
    port = 8080
  }
}

pod "shell" { node = node.node2 }

expect "each endpoint of the service answers" {
  proves = ["articles.217"]
  from   = [client.laptop, pod.shell, node.node1]
  to     = "shop.example:80"
  answer = pod.web
  http { status = 200 }
}

expect "the longest path wins" {
  proves = ["articles.217", "articles.223"]
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.cart
  http { path = "/cart/1" }
}

expect "a prefix is made of whole elements" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.web
  http { path = "/carts" }
}

expect "an exact path is preferred, and is the whole path" {
  for_each = { "/cart/help" = pod.web, "/cart/help/1" = [pod.cart] }
  from     = client.laptop
  to       = "shop.example:80"
  answer   = each.value
  http { path = each.key }
}

expect "a wildcard stands for one label" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.cart
  http { host = "eu.shop.example" }
}

expect "but not for two" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    host   = "a.eu.shop.example"
    status = 404
  }
}

expect "another endpoint is tried if one refuses" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.cart
  count  = 20
  http {
    path   = "/half"
    status = 200
  }
}

expect "but not by the rules of a service" {
  proves  = ["articles.223"]
  from    = pod.shell
  to      = service.half
  outcome = { connected = 1, refused = 1 }
}

expect "a service without endpoints" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    path   = "/sold-out"
    status = 503
  }
}

# What the controller answers itself tells whom it sees: node2, which masquerades.
expect "whom the controller sees" {
  from   = client.laptop
  to     = "shop.example:80"
  source = node.node2
  http { host = "elsewhere.example" }
}

expect "pods see the controller" {
  from      = client.laptop
  to        = "shop.example:80"
  answer    = pod.web
  source    = "10.244.0.0/16"
  forwarded = node.node2
  http {}
}

expect "a pod that asks is seen as itself" {
  from      = pod.shell
  to        = "ingress-controller.ingress:80"
  answer    = pod.web
  forwarded = pod.shell.ip
  http { host = "shop.example" }
}
