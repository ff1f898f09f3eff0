# Imported from testdata/manifests/ingress.yaml.

node "node1" {}
node "node2" {}
node "node3" {}

namespace "blog" {}

pod "web" {
  count    = 2
  workload = "Deployment"
  labels   = { app = "web" }
  port "http" { port = 8080 }
  port "admin" { port = 9090 }
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
  port "admin" { port = 9090 }
}

service "blog-web" {
  name      = "web"
  namespace = namespace.blog
  port "" { port = 80 }
  endpoint {
    address = "192.168.0.77"
    port    = 8080
  }
}

# Not carried over, testdata/manifests/ingress.yaml:46: annotation nginx.ingress.kubernetes.io/proxy-body-size: what it does is a matter of one controller.
ingress "site" {
  labels             = { app = "web" }
  ingress_class_name = "nginx"
  rule {
    host = "shop.example"
    path {
      service = service.web
      port    = "http"
    }
    path {
      path      = "/admin"
      path_type = "Exact"
      service   = service.web
      port      = 9090
    }
  }
  rule {
    host = "*.shop.example"
    path {
      path      = "/x"
      path_type = "ImplementationSpecific"
      service   = service.web
      port      = 80
    }
  }
  tls {
    hosts       = ["shop.example", "*.shop.example"]
    secret_name = "shop-tls"
  }
}

ingress "blog-site" {
  name               = "site"
  namespace          = namespace.blog
  ingress_class_name = "traefik"
  default_backend {
    service = service.blog-web
    port    = 80
  }
}
