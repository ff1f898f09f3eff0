# What you will see: how does one keep an application inside the cluster? An egress rule
# to all pods of all namespaces: an empty namespace_selector matches pods, and no host
# outside.
#
#   app ──▶ any pod        app ── ✗ ──▶ internet
#
# What to try: replace the peer by ip_block { cidr = network.pod_cidr }. The same pods
# match, by address.
#
# The proof: "pods everywhere" and "not the internet".

node "node1" {}
node "node2" {}

client "internet" {
  port "http" { port = 80 }
}

namespace "other" {}

pod "app" {
  node   = node.node1
  labels = { app = "app" }
}

pod "near" {
  node = node.node1
  port "http" { port = 80 }
}

pod "far" {
  namespace = "other"
  node      = node.node2
  port "http" { port = 80 }
}

policy "deny-external-egress" {
  pod_selector = { app = "app" }
  policy_types = ["Egress"]
  egress {
    to { namespace_selector = {} }
  }
}

expect "pods everywhere" {
  from = pod.app
  to   = [pod.near, pod.far]
}

expect "not the internet" {
  from    = pod.app
  to      = client.internet
  outcome = "timeout"
}

expect "another pod gets there" {
  from = pod.near
  to   = client.internet
}
