# Imported from testdata/manifests/routes.yaml.

node "node1" {}
node "node2" {}
node "node3" {}

pod "stable" {
  labels = { app = "stable" }
  port "http" { port = 8080 }
}

pod "canary" {
  labels = { app = "canary" }
  port "http" { port = 8080 }
}

service "stable" {
  selector = { app = "stable" }
  port "" {
    port        = 80
    target_port = "http"
  }
}

service "canary" {
  selector = { app = "canary" }
  port "" {
    port        = 80
    target_port = "http"
  }
}

gateway "public" {
  gateway_class_name = "x"
  listener "http" {}
}

# Not carried over, testdata/manifests/routes.yaml:44: spec.rules[1].filters[3].requestMirror: no claim sees a copy of a request whose response nobody gets.
http_route "shop" {
  labels    = { team = "shop" }
  hostnames = ["shop.example", "*.shop.example"]
  parent {
    gateway  = "public"
    listener = "http"
  }
  rule {
    backend {
      service = service.stable
      port    = 80
      weight  = 9
    }
    backend {
      service = service.canary
      port    = 80
    }
  }
  rule {
    match {
      headers         = { X-Version = "canary" }
      header_patterns = { X-User = "a.*" }
      query           = { v = "2" }
      query_patterns  = { w = "[0-9]+" }
    }
    match {
      path      = "/canary"
      path_type = "Exact"
      method    = "GET"
    }
    request_headers {
      set    = { X-Canary = "1" }
      add    = { X-Hop = "a" }
      remove = ["X-Debug"]
    }
    response_headers { remove = ["X-Powered-By"] }
    rewrite {
      hostname = "canary.internal"
      path     = "/new"
    }
    backend {
      service = service.canary
      port    = 80
    }
  }
  rule {
    match { path = "/gone" }
  }
  rule {
    match { path = "/old" }
    redirect {
      scheme   = "https"
      hostname = "new.example"
      port     = 8443
      prefix   = ""
      status   = 301
    }
  }
}
