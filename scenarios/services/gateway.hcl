# What you will see: a Gateway of the Gateway API. Its listeners decide which routes the controller
# serves, for which hosts, and over which protocol: HTTP is only redirected to HTTPS, which ends in
# the controller, with a certificate that every client in the lab trusts.
#
#   http  :80   any host         ◀── route "secure": 301 to https
#   https :443  *.shop.example   ◀── route "shop" of namespace shop, but not route "guest"
#
# What to try: netlab exec laptop -- curl -i http://inner.example/; netlab kubectl get
# gateways,httproutes -A; let the listener https take routes from All namespaces.
#
# The proof: "plain HTTP is redirected" and "HTTPS is served"; "a namespace without the label" and "a
# route that asks for both listeners, and gets one"; "a host of another domain has no certificate";
# "a service of another namespace, granted" and "a service of another namespace, not granted".

node "node1" {}
node "node2" {}
client "laptop" {}

gateway "public" {
  namespace = namespace.infra
  listener "http" { routes_from = "All" }
  listener "https" {
    protocol         = "HTTPS"
    hostname         = "*.shop.example"
    certificates     = ["shop-certificate"]
    routes_from      = "Selector"
    namespace_labels = { team = "shop" }
  }
}

gateway "inner" {
  for_each           = toset(["a"])
  name               = "inner"
  gateway_class_name = "other"
  labels             = { team = each.key }
  listener "http" {
    port     = 80
    hostname = "inner.example"
  }
}

gateway "spare" {
  count = 2
  listener "http" { hostname = "spare-${count.index}.example" }
}

namespace "infra" {}
namespace "shop" { labels = { team = "shop" } }
namespace "guest" {}

http_route "secure" {
  namespace = namespace.infra
  parent {
    gateway  = "public"
    listener = "http"
  }
  rule {
    redirect {
      scheme = "https"
      status = 301
    }
  }
}

http_route "shop" {
  namespace = namespace.shop
  hostnames = ["*.shop.example", "shop.elsewhere"]
  parent {
    gateway   = "public"
    namespace = namespace.infra
    port      = 443
  }
  rule {
    backend { service = service.web }
  }
}

http_route "guest" {
  namespace = namespace.guest
  hostnames = ["guest.shop.example", "guest.example"]
  parent {
    gateway   = "public"
    namespace = namespace.infra
  }
  rule {
    backend { service = service.guest }
  }
}

http_route "inner" {
  gateway = "inner"
  rule {
    match { path = "/only" }
    backend { service = service.plain }
  }
}

http_route "lent" {
  hostnames = ["lent.example"]
  parent {
    gateway   = "public"
    namespace = "infra"
  }
  rule {
    match { path = "/granted" }
    backend {
      service   = service.web
      namespace = namespace.shop
    }
  }
  rule {
    backend {
      service   = service.guest
      namespace = namespace.guest
    }
  }
}

reference_grant "lent" {
  for_each  = toset(["lent"])
  name      = each.key
  labels    = { team = "shop" }
  namespace = namespace.shop
  from      = ["default", namespace.guest]
  services  = [service.web]
}

reference_grant "spare" {
  count     = 1
  namespace = namespace.shop
  from      = [namespace.guest]
}

pod "web" {
  node      = node.node2
  namespace = namespace.shop
  labels    = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  namespace = namespace.shop
  selector  = { app = "web" }
  port "http" { port = 8080 }
}

pod "guest" {
  namespace = namespace.guest
  labels    = { app = "guest" }
  port "http" { port = 8080 }
}

service "guest" {
  namespace = namespace.guest
  selector  = { app = "guest" }
  port "http" { port = 8080 }
}

pod "plain" {
  labels = { app = "plain" }
  port "http" { port = 8080 }
}

service "plain" {
  selector = { app = "plain" }
  port "http" { port = 8080 }
}

expect "plain HTTP is redirected" {
  from   = client.laptop
  to     = "inner.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    host   = "eu.shop.example"
    path   = "/cart?id=7"
    status = 301
    header = { Location = "https://eu.shop.example/cart?id=7" }
  }
}

expect "HTTPS is served" {
  from   = client.laptop
  to     = "inner.example:443"
  answer = pod.web
  http {
    host = "eu.shop.example"
    tls  = true
    seen = { X-Forwarded-Proto = "https" }
  }
}

expect "a route that asks for both listeners, and gets one" {
  from   = client.laptop
  to     = "inner.example:80"
  answer = pod.guest
  http { host = "guest.example" }
}

expect "a namespace without the label" {
  from   = client.laptop
  to     = "inner.example:443"
  answer = pod.web
  http {
    host = "guest.shop.example"
    tls  = true
  }
}

expect "a host of another domain has no certificate" {
  for_each = toset(["guest.example", "shop.elsewhere", "a.b.shop.example"])
  from     = client.laptop
  to       = "inner.example:443"
  http {
    host     = each.key
    tls      = true
    response = false
  }
}

expect "a service of another namespace, granted" {
  from   = client.laptop
  to     = "lent.example:80"
  answer = pod.web
  http { path = "/granted/x" }
}

expect "a service of another namespace, not granted" {
  from   = client.laptop
  to     = "lent.example:80"
  answer = "ingress/ingress-controller-0"
  http { status = 500 }
}

expect "a gateway for one host" {
  from   = client.laptop
  to     = "inner.example:80"
  answer = pod.plain
  http {
    host = "inner.example"
    path = "/only"
  }
}

expect "and for no other" {
  from   = client.laptop
  to     = "inner.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    host   = "outer.example"
    path   = "/only"
    status = 301
    header = { Location = "https://outer.example/only" }
  }
}
