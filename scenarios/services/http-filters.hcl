# What you will see: filters of HTTPRoutes of the Gateway API. The controller changes header fields
# of requests and responses, asks pods for another host and path than it was asked for, and answers
# some requests itself, with a redirect.
#
#   laptop ──▶ controller ──▶ web    X-Team: shop, without X-Debug
#     /api/v1                        /v1 of api.internal
#     /old/a ◀── 301 https://new.example/archive/a
#
# What to try: netlab exec laptop -- curl -i http://shop.example/old/a; netlab explain with one of
# the expectations shows what the controller changes.
#
# The proof: "header fields of the request" and "of another rule, unchanged"; "a rewritten path
# and host" and "a rewritten path"; "redirects" and "a redirect to the same host, with a header
# field".

node "node1" {}
node "node2" {}
client "laptop" {}

http_route "shop" {
  hostnames = ["shop.example"]
  rule {
    match { path = "/" }
    request_headers {
      set    = { X-Team = "shop" }
      add    = { X-Hop = "controller" }
      remove = ["X-Debug"]
    }
    response_headers {
      set    = { Cache-Control = "no-store" }
      add    = { X-Served-By = "netlab" }
      remove = ["Content-Type"]
    }
    backend { service = service.web }
  }
  rule {
    match { path = "/plain" }
    backend { service = service.web }
  }
  rule {
    match { path = "/api" }
    rewrite {
      hostname = "api.internal"
      prefix   = "/"
    }
    backend { service = service.web }
  }
  rule {
    match {
      path      = "/robots.txt"
      path_type = "Exact"
    }
    rewrite { path = "/static/none.txt" }
    backend { service = service.web }
  }
  rule {
    match { path = "/old" }
    redirect {
      scheme   = "https"
      hostname = "new.example"
      prefix   = "/archive"
      status   = 301
    }
  }
  rule {
    match { path = "/moved" }
    response_headers { set = { X-Served-By = "netlab" } }
    redirect {
      port = 8080
      path = "/"
    }
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

expect "header fields of the request" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.web
  http {
    sends     = { X-Team = "mine", X-Hop = "laptop", X-Debug = "1", X-Other = "2" }
    seen_host = "shop.example"
    seen      = { X-Team = "shop", X-Hop = "laptop, controller", X-Debug = "", X-Other = "2", X-Forwarded-Proto = "http" }
    header    = { Cache-Control = "no-store", X-Served-By = "netlab", Content-Type = "" }
  }
}

expect "of another rule, unchanged" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.web
  http {
    path      = "/plain/x?y=1"
    sends     = { X-Team = "mine", X-Debug = "1" }
    seen_host = "shop.example"
    seen_path = "/plain/x?y=1"
    seen      = { X-Team = "mine", X-Debug = "1", X-Hop = "" }
    header    = { Cache-Control = "", X-Served-By = "", Content-Type = "application/json" }
  }
}

expect "a rewritten path and host" {
  for_each = { "/api/v1?all=1" = "/v1?all=1", "/api" = "/", "/api/" = "/", "/x/../api/a%20b" = "/a%20b" }
  from     = client.laptop
  to       = "shop.example:80"
  answer   = pod.web
  http {
    path      = each.key
    seen_host = "api.internal"
    seen_path = each.value
    seen      = { X-Forwarded-Host = "shop.example" }
  }
}

expect "a rewritten path" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = pod.web
  http {
    path      = "/robots.txt"
    seen_host = "shop.example"
    seen_path = "/static/none.txt"
  }
}

expect "redirects" {
  for_each = {
    "/old"       = "https://new.example/archive"
    "/old/a?b=c" = "https://new.example/archive/a?b=c"
  }
  from   = client.laptop
  to     = "shop.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    path   = each.key
    status = 301
    header = { Location = each.value, X-Served-By = "" }
  }
}

expect "a redirect to the same host, with a header field" {
  from   = client.laptop
  to     = "shop.example:80"
  answer = "ingress/ingress-controller-0"
  http {
    path   = "/moved/x"
    status = 302
    header = { Location = "http://shop.example:8080/", X-Served-By = "netlab" }
  }
}
