# What you will see: do all policy styles enforce the same? The same policies in three
# layouts of chains, on two pod networks: marks and sets as in kube-router, dispatch
# by interface as in Calico, verdict maps of nftables. Six labs, side by side.
#
# What to try: netlab test scenarios/policies/policy-styles.hcl; netlab plan on it, once
# per style; netlab bench, and compare what a packet costs.
#
# The proof: every column of the table is the same.

matrix {
  policies = ["kube-router", "calico", "nftables"]
  network  = ["vxlan", "host-gw"]
}

node "node1" {}
node "node2" {}

namespace "x" { labels = { ns = "x" } }
namespace "y" { labels = { ns = "y" } }

pod "xa" {
  namespace = "x"
  node      = node.node1
  labels    = { pod = "a" }
  port "http" { port = 80 }
}

pod "xb" {
  namespace = "x"
  node      = node.node2
  labels    = { pod = "b" }
  port "http" { port = 80 }
}

pod "ya" {
  namespace = "y"
  node      = node.node1
  labels    = { pod = "a" }
  port "http" { port = 80 }
}

pod "yb" {
  namespace = "y"
  node      = node.node2
  labels    = { pod = "b" }
  port "http" { port = 80 }
}

policy "x-from-y-a" {
  namespace = "x"
  ingress {
    from {
      namespace_selector = { ns = "y" }
      pod_selector       = { pod = "a" }
    }
  }
}

policy "yb-to-x" {
  namespace    = "y"
  pod_selector = { pod = "b" }
  policy_types = ["Egress"]
  egress {
    to { namespace_selector = { ns = "x" } }
  }
}

expect "allowed by both ends" {
  from = pod.ya
  to   = [pod.xa, pod.xb, pod.yb]
}

expect "denied on the way in" {
  from    = [pod.xa, pod.yb]
  to      = pod.xb
  outcome = "timeout"
}

expect "denied on the way out" {
  from    = pod.yb
  to      = pod.ya
  outcome = "timeout"
}

expect "open to the rest" {
  from = [pod.xa, pod.xb]
  to   = [pod.ya, pod.yb]
}

expect "by rules of iptables, or by none of its own" {
  proves = ["articles.166"]
  dynamic "rules" {
    for_each = { kube-router = "KUBE-ROUTER-FORWARD", calico = "cali-FORWARD" }
    content {
      on    = node.node1
      tool  = "iptables"
      table = "filter"
      chain = "FORWARD"
      has   = "-j ${rules.value}"
      count = policies.style == rules.key ? 1 : 0
    }
  }
  dynamic "rules" {
    for_each = policies.style == "nftables" ? ["network-policies"] : []
    content {
      on    = node.node1
      tool  = "nft"
      table = rules.value
      chain = "forward"
      has   = "jump pods"
    }
  }
}
