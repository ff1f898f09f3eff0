# Imported from testdata/manifests/mesh.yaml.

node "node1" {}
node "node2" {}
node "node3" {}

namespace "books" { labels = { mesh = "enabled" } }

pod "details-v1" {
  namespace = namespace.books
  workload  = "Deployment"
  labels    = { app = "details", version = "v1" }
  port "tcp-9080" { port = 9080 }
}

pod "ratings-v1" {
  namespace = namespace.books
  workload  = "Deployment"
  labels    = { app = "ratings", version = "v1" }
  port "tcp-9080" { port = 9080 }
}

pod "reviews-v1" {
  namespace = namespace.books
  workload  = "Deployment"
  labels    = { app = "reviews", version = "v1" }
  port "tcp-9080" { port = 9080 }
}

pod "reviews-v2" {
  namespace = namespace.books
  workload  = "Deployment"
  labels    = { app = "reviews", version = "v2" }
  port "tcp-9080" { port = 9080 }
}

pod "reviews-v3" {
  namespace = namespace.books
  workload  = "Deployment"
  labels    = { app = "reviews", version = "v3" }
  port "tcp-9080" { port = 9080 }
}

pod "pages-v1" {
  namespace = namespace.books
  workload  = "Deployment"
  labels    = { app = "pages", version = "v1" }
  port "tcp-9080" { port = 9080 }
}

pod "load" {
  count     = 2
  namespace = namespace.books
  workload  = "Job"
  labels    = { app = "load" }
}

service "details" {
  namespace = namespace.books
  selector  = { app = "details" }
  labels    = { app = "details" }
  port "http" { port = 9080 }
}

service "ratings" {
  namespace = namespace.books
  selector  = { app = "ratings" }
  labels    = { app = "ratings" }
  port "http" { port = 9080 }
}

service "reviews" {
  namespace = namespace.books
  selector  = { app = "reviews" }
  labels    = { app = "reviews" }
  port "http" { port = 9080 }
}

service "pages" {
  namespace = namespace.books
  selector  = { app = "pages" }
  labels    = { app = "pages" }
  port "http" { port = 9080 }
}

# Not carried over:
#   testdata/manifests/mesh.yaml:118: VirtualService reviews: this version of netlab does not know what networking.istio.io/v1 has.
