# What you will see: who decides, the sender's policy or the receiver's? Both:
# both ends must allow a connection. On one node that takes care: rules that
# accept a packet as soon as the sender's policy allows it never evaluate the
# receiver's.
#
#   a (egress to all) ──▶ b (ingress from none)     denied
#   c (egress to none) ──▶ d (ingress from all)  denied
#   a                       ──▶ d                           allowed
#
# What to try: --matrix policies=kube-router,legacy. The chains of the legacy style
# accept immediately, and a reaches b on the same node.
#
# The proof: "the receiver must allow it" and "the sender must allow it".

node "node1" {}
node "node2" {}

pod "a" {
  node   = node.node1
  labels = { out = "yes" }
}

pod "b" {
  node   = node.node1
  labels = { in = "no" }
  port "http" { port = 80 }
}

pod "c" {
  node   = node.node1
  labels = { out = "no" }
}

pod "d" {
  node   = node.node1
  labels = { in = "yes" }
  port "http" { port = 80 }
}

pod "free" { node = node.node2 }

policy "out" {
  pod_selector = { out = "yes" }
  policy_types = ["Egress"]
  egress {}
}

policy "no-out" {
  pod_selector = { out = "no" }
  policy_types = ["Egress"]
}

policy "in" {
  pod_selector = { in = "yes" }
  ingress {}
}

policy "no-in" {
  pod_selector = { in = "no" }
  policy_types = ["Ingress"]
}

expect "the receiver must allow it" {
  from    = [pod.a, pod.free]
  to      = pod.b
  outcome = "timeout"
}

expect "the sender must allow it" {
  from    = pod.c
  to      = pod.d
  outcome = "timeout"
}

expect "both agree" {
  from   = [pod.a, pod.free]
  to     = pod.d
  answer = pod.d
}

expect "b does listen: its node reaches it" {
  from = node.node1
  to   = pod.b
}
