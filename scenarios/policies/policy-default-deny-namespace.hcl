# What you will see: how does one close a namespace by default? A policy with an empty
# selector selects all of its pods, and denies both directions if policy_types lists
# both. It does not affect other namespaces.
#
#   shop:  web ── ✗ ── cart        tools:  shell ──▶ echo
#
# What to try: leave out policy_types. Without egress rules the policy covers ingress
# only, and "out of it" connects: to deny egress, list Egress.
#
# The proof: "inside the namespace", "into it", "out of it" and "elsewhere".

node "node1" {}
node "node2" {}

namespace "shop" {}
namespace "tools" {}

pod "web" {
  namespace = "shop"
  node      = node.node1
  port "http" { port = 80 }
}

pod "cart" {
  namespace = "shop"
  node      = node.node2
  port "http" { port = 80 }
}

pod "shell" {
  namespace = "tools"
  node      = node.node1
}

pod "echo" {
  namespace = "tools"
  node      = node.node2
  port "http" { port = 80 }
}

policy "default-deny-all" {
  namespace    = "shop"
  pod_selector = {}
  policy_types = ["Ingress", "Egress"]
}

expect "inside the namespace" {
  from    = pod.web
  to      = pod.cart
  outcome = "timeout"
}

expect "into it" {
  from    = pod.shell
  to      = [pod.web, pod.cart]
  outcome = "timeout"
}

expect "out of it" {
  from    = [pod.web, pod.cart]
  to      = pod.echo
  outcome = "timeout"
}

expect "elsewhere" {
  from = pod.shell
  to   = pod.echo
}

expect "the pods do listen: their own nodes reach them" {
  from = node.node1
  to   = pod.web
}

expect "and the other one" {
  from = node.node2
  to   = pod.cart
}
