# What you will see: how does one admit a namespace that has no labels? Every namespace
# carries the label kubernetes.io/metadata.name with its own name. Expressions select
# several.
#
#   a ──▶ web       b ──▶ web       c ── ✗ ──▶ web
#
# What to try: operator NotIn with values ["c"]; add another namespace, and compare.
#
# The proof: "listed namespaces get in" and "an unlisted one does not".

node "node1" {}
node "node2" {}

namespace "a" {}
namespace "b" {}
namespace "c" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "in-a" {
  namespace = "a"
  node      = node.node1
}

pod "in-b" {
  namespace = "b"
  node      = node.node2
}

pod "in-c" {
  namespace = "c"
  node      = node.node2
}

policy "a-and-b" {
  pod_selector = { app = "web" }
  ingress {
    from {
      namespace_selector {
        match_expressions {
          key      = "kubernetes.io/metadata.name"
          operator = "In"
          values   = ["a", "b"]
        }
      }
    }
  }
}

expect "listed namespaces get in" {
  from   = [pod.in-a, pod.in-b]
  to     = pod.web
  answer = pod.web
}

expect "an unlisted one does not" {
  from    = pod.in-c
  to      = pod.web
  outcome = "timeout"
}
