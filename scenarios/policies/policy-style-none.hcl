# What you will see: a policy that nobody enforces. Flannel alone connects pods and knows
# nothing of policies: the API server takes them, and every packet still passes. With an
# agent beside it, here kube-router's, the same policies count.
#
#   web (node1) ──▶ db (node2)     allowed by "db" in both
#   any (node2) ──▶ db (node2)     denied by "db", and connected all the same without an agent
#
# What to try: netlab reach scenarios/policies/policy-style-none.hcl; set style = "calico"
# and look again.
#
# The proof: "the policy counts where there is an agent", beside "what it allows" as the
# control.

matrix { policies = ["none", "kube-router"] }

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
}

pod "any" {
  node = node.node2
}

pod "db" {
  node   = node.node2
  labels = { app = "db" }
  port "sql" { port = 5432 }
}

policy "db" {
  pod_selector = { app = "db" }
  ingress {
    from { pod_selector = { app = "web" } }
    port { port = "sql" }
  }
}

expect "what it allows" {
  proves  = ["articles.165"]
  from    = pod.web
  to      = pod.db
  outcome = "connected"
  source  = pod.web.ip
}

expect "the policy counts where there is an agent" {
  proves  = ["articles.165"]
  from    = pod.any
  to      = pod.db
  outcome = policies.style == "none" ? "connected" : "timeout"
}
