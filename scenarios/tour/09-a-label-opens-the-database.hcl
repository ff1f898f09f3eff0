# What you will see: a policy lets into the database who has a label, and four engines agree
# on who that is. They write it differently (chains per pod, chains per endpoint and policy,
# maps of nf_tables, one chain for all), and the packets meet the same fate. In three of them
# another pod with the label changes a set, and no rule.
#
#   backend (networking/allow-db-access = "true") ──▶ db
#   frontend ────────────── ✗ ──────────────────────▶ db
#
# What to try: netlab rules node1 --matrix policies=calico,nftables -f and this file;
# netlab reach on this file; netlab up, give the frontend the label, and run netlab plan --diff.
#
# The proof: "the backend gets in", "the frontend does not", "the database answers nobody
# else" and, in engine calico, "the set is the policy".

matrix { policies = ["kube-router", "calico", "nftables", "legacy"] }

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

pod "frontend" {
  node   = node.node1
  labels = { app = "frontend" }
  port "http" { port = 80 }
}

pod "backend" {
  node   = node.node2
  labels = { app = "backend", "networking/allow-db-access" = "true" }
  port "http" { port = 80 }
}

pod "db" {
  node   = node.node1
  labels = { app = "db" }
  port "sql" { port = 3306 }
}

service "db" {
  selector = { app = "db" }
  port "sql" { port = 3306 }
}

policy "allow-db-access" {
  pod_selector = { app = "db" }
  policy_types = ["Ingress"]
  ingress {
    from { pod_selector = { "networking/allow-db-access" = "true" } }
  }
}

expect "the backend gets in" {
  proves = ["articles.143"]
  from   = pod.backend
  to     = [pod.db, service.db]
  answer = pod.db
  source = pod.backend.ip
}

expect "the frontend does not" {
  proves  = ["articles.143"]
  from    = pod.frontend
  to      = [pod.db, service.db]
  outcome = "timeout"
}

expect "the database answers nobody else" {
  from    = node.node2
  to      = pod.db
  outcome = "timeout"
}

expect "the frontend is only kept from the database" {
  proves = ["articles.143"]
  from   = pod.frontend
  to     = pod.backend
  answer = pod.backend
}

expect "the set is the policy" {
  from   = pod.backend
  to     = pod.db
  answer = pod.db
  dynamic "rules" {
    for_each = policies.style == "calico" ? ["cali40s:LrVD8vMIGQDyv8Y7sPFB1Ge"] : []
    content {
      on    = node.node1
      set   = rules.value
      has   = "add ${rules.value} ${pod.backend.ip}"
      count = 1
    }
  }
  dynamic "rules" {
    for_each = policies.style == "calico" ? ["cali-pi-_tTE-E7yY40ogArNVgKt"] : []
    content {
      on     = node.node1
      chain  = rules.value
      equals = <<-EOT
        -A ${rules.value} -m comment --comment "cali:M4Und37HGrw6jUk8" -m set --match-set cali40s:LrVD8vMIGQDyv8Y7sPFB1Ge src -j MARK --set-xmark 0x10000/0x10000
        -A ${rules.value} -m comment --comment "cali:sEnlfZagUFRSPRoe" -m mark --mark 0x10000/0x10000 -j RETURN
      EOT
    }
  }
}
