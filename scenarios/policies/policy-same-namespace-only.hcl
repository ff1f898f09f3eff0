# What you will see: how does one keep other namespaces out? An empty pod_selector
# inside from means all pods of the policy's own namespace: not all pods of the cluster.
#
#   shop:  cart ──▶ web ◀── ✗ ── shell :tools
#
# What to try: write namespace_selector = {} instead; then pods of every namespace get
# in, but hosts outside still do not.
#
# The proof: "the policy's own namespace gets in" and "another one does not".

node "node1" {}
node "node2" {}
client "laptop" {}

namespace "shop" {}
namespace "tools" {}

pod "web" {
  namespace = "shop"
  node      = node.node1
  labels    = { app = "web" }
  port "http" { port = 80 }
}

pod "cart" {
  namespace = "shop"
  node      = node.node2
}

pod "shell" {
  namespace = "tools"
  node      = node.node1
}

service "web" {
  namespace = "shop"
  type      = "NodePort"
  selector  = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
  external_traffic_policy = "Local"
}

policy "deny-from-other-namespaces" {
  namespace    = "shop"
  pod_selector = {}
  ingress {
    from { pod_selector = {} }
  }
}

expect "the policy's own namespace gets in" {
  from   = pod.cart
  to     = [pod.web, service.web]
  answer = pod.web
}

expect "another one does not" {
  from    = pod.shell
  to      = [pod.web, service.web]
  outcome = "timeout"
}

expect "nor do hosts outside" {
  from    = client.laptop
  to      = "${node.node1.ip}:30080"
  outcome = "timeout"
}
