# Imported from testdata/manifests/gateway.yaml.

node "node1" {}
node "node2" {}
node "node3" {}

namespace "infra" {}
namespace "shop" { labels = { team = "shop" } }

pod "web" {
  namespace = namespace.shop
  labels    = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  namespace = namespace.shop
  selector  = { app = "web" }
  port "" {
    port        = 80
    target_port = "http"
  }
}

# Not carried over, testdata/manifests/gateway.yaml:29: listener pass: the controller of a lab listens on port 80 for HTTP and on 443 for HTTPS, not on 443 for TLS.
# Not carried over, testdata/manifests/gateway.yaml:30: listener other: the controller of a lab listens on port 80 for HTTP and on 443 for HTTPS, not on 8080 for HTTP.
gateway "infra-public" {
  name               = "public"
  namespace          = namespace.infra
  labels             = { a = "b" }
  gateway_class_name = "cilium"
  listener "http" { routes_from = "All" }
  listener "https" {
    protocol         = "HTTPS"
    hostname         = "*.shop.example"
    certificates     = ["shop-tls"]
    routes_from      = "Selector"
    namespace_labels = { team = "shop" }
  }
}

gateway "public" {
  listener "http" { hostname = "inner.example" }
}

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

# Not carried over, testdata/manifests/gateway.yaml:48: parentRefs: a route of a lab is attached to gateways, not to a Service.
http_route "shop" {
  namespace = namespace.shop
  hostnames = ["eu.shop.example"]
  parent {
    gateway   = "public"
    namespace = "infra"
    port      = 443
  }
  rule {
    backend {
      service = service.web
      port    = 80
    }
  }
}

http_route "inner" {
  gateway = "public"
  rule {
    redirect { hostname = "eu.shop.example" }
  }
}

http_route "lent" {
  gateway = "public"
  rule {
    match { path = "/lent" }
    backend {
      service   = service.web
      port      = 80
      namespace = "shop"
    }
  }
}

# Not carried over, testdata/manifests/gateway.yaml:78: its other kinds: in a lab, grants let an HTTPRoute lead to a Service.
reference_grant "lent" {
  namespace = namespace.shop
  from      = ["default"]
  services  = ["web"]
}

# Not carried over:
#   testdata/manifests/gateway.yaml:85: ReferenceGrant secrets: in a lab, grants let an HTTPRoute lead to a Service.
