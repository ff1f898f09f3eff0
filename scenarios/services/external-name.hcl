# What you will see: a service that is an alias of a name (CNAME) and nothing else: no
# cluster IP, no endpoint, no rule. If it resolves to a service, packets take that
# service's path; if it resolves outside, they leave the cluster as usual.
#
#   shell ──▶ alias ──▶ web.default.svc.cluster.local ──▶ cluster IP ──▶ web
#   shell ──▶ db    ──▶ database ──▶ the host outside, which sees the node
#
# What to try: netlab rules node1 shows no rule for any of the three.
#
# The proof: "an alias of a service" and "a name that does not resolve".

node "node1" {}
node "node2" {}

client "database" {
  port "sql" { port = 5432 }
}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "alias" {
  type          = "ExternalName"
  external_name = "web.default.svc.cluster.local"
}

service "db" {
  type          = "ExternalName"
  external_name = "database"
}

service "lost" {
  type          = "ExternalName"
  external_name = "nowhere.example.com"
  port "http" { port = 80 }
}

expect "an alias of a service" {
  from   = pod.shell
  to     = service.alias
  answer = pod.web
  source = pod.shell.ip
}

expect "an alias of a host outside" {
  proves = ["articles.90", "articles.216"]
  from   = pod.shell
  to     = service.db
  answer = client.database
  source = node.node1.ip
}

expect "a name that does not resolve" {
  from    = pod.shell
  to      = service.lost
  outcome = "dns"
}
