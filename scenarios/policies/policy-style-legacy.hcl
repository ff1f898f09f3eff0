# What you will see: where the oldest layout of network policies is wrong. The style
# legacy has one chain of allow rules, shared by all pods of a node, and an accept there
# is final. So the egress rule of one pod also opens another, isolated pod of the same
# node; between two nodes each node filters for its own pods, and the result is correct.
#
#   a (node1) ──▶ near (node1)    lets through: the egress rule of a accepted it
#             ──▶ far  (node2)    denied: node2 has no such rule
#
# What to try: netlab explain -f scenarios/policies/policy-style-legacy.hcl a near:8080;
# set style = "kube-router", where "the fault" fails since near is isolated from a, too.
#
# The proof: "the fault", "between nodes the result is right" and "near is
# isolated".

policies {
  style = "legacy"
}

node "node1" {}
node "node2" {}

pod "a" {
  node   = node.node1
  labels = { app = "a" }
}

pod "b" {
  node = node.node1
}

pod "near" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "far" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "open" {
  node = node.node1
  port "http" { port = 8080 }
}

policy "web-is-isolated" {
  pod_selector = { app = "web" }
  ingress {
    from { pod_selector = { app = "none" } }
  }
}

policy "a-to-web" {
  pod_selector = { app = "a" }
  policy_types = ["Egress"]
  egress {
    to { pod_selector = { app = "web" } }
  }
}

expect "the fault" {
  from = pod.a
  to   = pod.near
  port = "http"
}

expect "between nodes the result is right" {
  from    = pod.a
  to      = pod.far
  port    = "http"
  outcome = "timeout"
}

expect "a node reaches its own pods" {
  from = node.node2
  to   = pod.far
  port = "http"
}

expect "near is isolated" {
  from    = pod.b
  to      = pod.near
  port    = "http"
  outcome = "timeout"
}

expect "egress is restricted" {
  from    = pod.a
  to      = pod.open
  port    = "http"
  outcome = "timeout"
}

expect "a pod without policies answers" {
  from = pod.b
  to   = pod.open
  port = "http"
}
