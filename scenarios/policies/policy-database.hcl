# What you will see: does a policy on the database keep out the frontend and nothing
# else? The frontend talks to the backend, the backend to the database; a policy selects
# the database and admits pods with a label that only the backend has. Pods that no
# policy selects stay open to all.
#
#   frontend ──▶ backend ──▶ db
#       └───────── ✗ ────────▶
#
# What to try: netlab explain scenarios/policies/policy-database.hcl frontend
# service/db, which names the policy that isolates; netlab rules node1; the same with
# --matrix policies=kube-router,calico,nftables.
#
# The proof: "the frontend is kept out" and "the backend gets through".

policies { style = "calico" }

node "node1" {}
node "node2" {}

pod "frontend" {
  node   = node.node1
  labels = { app = "frontend" }
}

pod "backend" {
  node   = node.node2
  labels = { app = "backend", "networking/allow-db-access" = "true" }
  port "http" { port = 80 }
}

pod "db" {
  node   = node.node1
  labels = { app = "db" }
  port "http" { port = 80 }
}

service "backend" {
  selector = { app = "backend" }
  port "http" { port = 80 }
}

service "db" {
  selector = { app = "db" }
  port "http" { port = 80 }
}

policy "allow-db-access" {
  pod_selector = { app = "db" }
  policy_types = ["Ingress"]
  ingress {
    from { pod_selector = { "networking/allow-db-access" = "true" } }
  }
}

expect "the frontend is kept out" {
  proves  = ["articles.94", "articles.95"]
  from    = pod.frontend
  to      = [service.db, pod.db]
  outcome = "timeout"
}

expect "the backend gets through" {
  proves = ["articles.94"]
  from   = pod.backend
  to     = [service.db, pod.db]
  answer = pod.db
  source = pod.backend.ip
}

expect "pods that no policy selects stay open" {
  proves = ["articles.93", "articles.164"]
  from   = [pod.frontend, pod.db]
  to     = service.backend
  answer = pod.backend
}
