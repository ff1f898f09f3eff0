# What you will see: how does one admit a namespace, or some pods of it? A
# namespace_selector alone means all pods of those namespaces; with a pod_selector in
# the same from block both must hold; in two from blocks, either. The difference is one
# line in the file.
#
#   monitoring: prometheus ──▶ web :80      both conditions, one from block
#   monitoring: other      ── ✗ ──▶
#   production: any pod    ──▶ db  :80      one condition
#   default:    prometheus ──▶ db           in two from blocks: either
#
# What to try: split the from block of "web" into two, and see who gets in.
#
# The proof: "both conditions" and "either condition".

node "node1" {}
node "node2" {}

namespace "production" { labels = { purpose = "production" } }
namespace "monitoring" { labels = { team = "operations" } }
namespace "development" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "db" {
  node   = node.node2
  labels = { app = "db" }
  port "http" { port = 80 }
}

pod "prometheus" {
  namespace = "monitoring"
  node      = node.node2
  labels    = { type = "monitoring" }
}

pod "other" {
  namespace = "monitoring"
  node      = node.node1
}

pod "shop" {
  namespace = "production"
  node      = node.node1
}

pod "dev" {
  namespace = "development"
  node      = node.node2
  labels    = { type = "monitoring" }
}

pod "local" {
  node   = node.node1
  labels = { type = "monitoring" }
}

policy "web-allow-monitoring" {
  pod_selector = { app = "web" }
  ingress {
    from {
      namespace_selector = { team = "operations" }
      pod_selector       = { type = "monitoring" }
    }
  }
}

policy "db-allow-production-or-monitoring" {
  pod_selector = { app = "db" }
  ingress {
    from { namespace_selector = { purpose = "production" } }
    from { pod_selector = { type = "monitoring" } }
  }
}

expect "both conditions" {
  from   = pod.prometheus
  to     = pod.web
  answer = pod.web
}

expect "one condition is not enough" {
  from    = [pod.other, pod.dev, pod.local, pod.shop]
  to      = pod.web
  outcome = "timeout"
}

expect "either condition" {
  from   = [pod.shop, pod.local]
  to     = pod.db
  answer = pod.db
}

expect "a pod selector alone means the policy's own namespace" {
  from    = [pod.prometheus, pod.dev, pod.other]
  to      = pod.db
  outcome = "timeout"
}
