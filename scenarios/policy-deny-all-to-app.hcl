# What you will see: how does one cut off an application? A policy that selects its pods
# and has no rule isolates them: nothing may come in. What the pods themselves open is
# not touched, and other pods are not either.
#
#   shell ── ✗ ──▶ web        web ──▶ api        shell ──▶ api
#
# What to try: add ingress {} to the policy, one empty rule: everybody gets in again.
#
# The proof: "nobody gets in" beside "it may still go out".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "api" {
  node   = node.node2
  labels = { app = "api" }
  port "http" { port = 80 }
}

pod "neighbour" { node = node.node1 }
pod "shell" { node = node.node2 }

policy "web-deny-all" {
  pod_selector = { app = "web" }
  policy_types = ["Ingress"]
}

expect "nobody gets in" {
  from    = [pod.neighbour, pod.shell, pod.api, node.node2]
  to      = pod.web
  outcome = "timeout"
}

expect "the node of the pod always may, for its health checks" {
  from = node.node1
  to   = pod.web
}

expect "it may still go out" {
  from   = pod.web
  to     = pod.api
  answer = pod.api
}

expect "others are not touched" {
  from = [pod.shell, pod.neighbour]
  to   = pod.api
}
