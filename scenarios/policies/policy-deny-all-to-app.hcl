# What you will see: how does one cut off an application? A policy that selects its pods
# and has no rule isolates them: nothing may come in. Connections that the pods open
# themselves are not affected, nor are other pods.
#
#   shell ── ✗ ──▶ web        web ──▶ api        shell ──▶ api
#
# What to try: add ingress {} to the policy, one empty rule: everything gets in again.
#
# The proof: "nothing gets in" and "it may still go out".

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

expect "nothing gets in" {
  from    = [pod.neighbour, pod.shell, pod.api, node.node2]
  to      = pod.web
  outcome = "timeout"
}

expect "the pod's node always gets in, for health checks" {
  from = node.node1
  to   = pod.web
}

expect "it may still go out" {
  from   = pod.web
  to     = pod.api
  answer = pod.api
}

expect "other pods are not affected" {
  from = [pod.shell, pod.neighbour]
  to   = pod.api
}
