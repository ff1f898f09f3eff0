# What you will see: HTTPRoutes of the Gateway API, served by the same controller as ingresses. A
# rule matches by path, method, headers and query, and divides requests among services by weight,
# as for a canary: three of four requests go to the stable pods.
#
#   laptop ──▶ controller ──▶ 3/4 stable, 1/4 canary
#                             X-Version: canary ──▶ canary
#
# What to try: netlab exec laptop -- curl -H 'X-Version: canary' http://shop.example/; set the
# weight of canary to 0.
#
# The proof: "three of four", "a header chooses", "a query parameter, a pattern of a parameter or of
# the path" and "what matches none of them", "a wildcard stands for any number of labels", and "a
# rule without weight", "a rule without backend".

node "node1" {}
node "node2" {}
client "laptop" {}

http_route "shop" {
  gateway   = "public"
  hostnames = ["shop.example", "*.shop.example"]
  rule {
    match { path = "/" }
    backend {
      service = service.stable
      weight  = 3
    }
    backend { service = service.canary }
  }
  rule {
    match {
      headers = { X-Version = "canary" }
      method  = "GET"
    }
    match {
      path      = "/canary"
      path_type = "Exact"
    }
    backend {
      service = service.canary
      port    = 80
    }
  }
  rule {
    match { path = "/off" }
    backend {
      service = service.stable
      weight  = 0
    }
  }
  rule {
    match { path = "/gone" }
  }
}

http_route "queries" {
  hostnames = ["query.example"]
  rule {
    match { query = { version = "2" } }
    backend { service = service.canary }
  }
  rule {
    match { header_patterns = { User-Agent = ".*Mobile.*" } }
    match { query_patterns = { tester = "[a-z]+" } }
    match {
      path      = "/v[0-9]+/.*"
      path_type = "RegularExpression"
    }
    backend { service = service.canary }
  }
  rule {
    backend { service = service.stable }
  }
}

http_route "team" {
  for_each  = toset(["blog"])
  name      = "team"
  namespace = namespace.blog
  labels    = { team = each.key }
  hostnames = ["blog.example"]
  rule {
    backend { service = service.blog }
  }
}

http_route "numbered" {
  count     = 2
  hostnames = ["number-${count.index}.example"]
  rule {
    backend { service = service.stable }
  }
}

namespace "blog" {}

pod "stable" {
  node   = node.node1
  labels = { app = "stable" }
  port "http" { port = 8080 }
}

pod "canary" {
  node   = node.node2
  labels = { app = "canary" }
  port "http" { port = 8080 }
}

service "stable" {
  selector = { app = "stable" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "canary" {
  selector = { app = "canary" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

pod "blog" {
  namespace = namespace.blog
  labels    = { app = "blog" }
  port "http" { port = 8080 }
}

service "blog" {
  namespace = namespace.blog
  selector  = { app = "blog" }
  port "http" { port = 8080 }
}

expect "three of four" {
  from     = client.laptop
  to       = "shop.example:80"
  protocol = "http"
  answer   = [pod.stable, pod.canary]
  spread {
    tolerance = 0.7
    weights   = { stable = 3, canary = 1 }
  }
}

expect "a header chooses" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.canary
  http { sends = { X-Version = "canary" } }
}

expect "or a path" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.canary
  http { path = "/canary" }
}

expect "a wildcard stands for any number of labels" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = [pod.stable, pod.canary]
  http { host = "a.b.shop.example" }
}

expect "a query parameter, a pattern of a parameter or of the path" {
  for_each = toset(["/?version=2", "/any/x?a=b&version=2&version=1", "/?tester=ann", "/v12/x"])
  from     = client.laptop
  to       = "query.example:80"
  answer   = pod.canary
  http { path = each.key }
}

expect "a pattern of a header field" {
  from   = client.laptop
  to     = "query.example:80"
  answer = pod.canary
  http { sends = { User-Agent = "X (Mobile)" } }
}

expect "what matches none of them" {
  for_each = toset(["/", "/?version=1&version=2", "/?tester=1ann", "/v/x", "/version=2"])
  from     = client.laptop
  to       = "query.example:80"
  answer   = pod.stable
  http {
    path  = each.key
    sends = { User-Agent = "X" }
  }
}

expect "a rule without weight" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    path   = "/off"
    status = 500
  }
}

expect "a rule without backend" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    path   = "/gone/too"
    status = 500
  }
}

expect "a route of another namespace" {
  from     = client.laptop
  to       = "blog.example:80"
  answer   = pod.blog
  protocol = "http"
}

expect "each instance of a block is a route" {
  from     = client.laptop
  to       = ["number-0.example:80", "number-1.example:80"]
  answer   = pod.stable
  protocol = "http"
}

expect "and no other host" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    host   = "elsewhere.example"
    status = 404
  }
}
