# What you will see: a service without a cluster IP is only a name. It has no rule on
# any node; DNS returns the addresses of its ready pods and the client dials one of
# them, so neither address nor port is translated.
#
#   shell ──▶ db.default ──▶ 10.244.1.x, 10.244.2.y ──▶ db-0 or db-1
#   shell ──▶ shifted:80 ──▶ refused: the pods listen on 5432, and there is no DNAT
#
# What to try: netlab rules node1 shows no chain for either.
#
# The proof: "the name leads to every ready pod" and "the port is not translated".

node "node1" {}
node "node2" {}

pod "db" {
  count  = 2
  labels = { app = "db" }
  port "sql" { port = 5432 }
}

pod "starting" {
  node   = node.node1
  labels = { app = "db" }
  ready  = false
  port "sql" { port = 5432 }
}

pod "shell" {
  node = node.node1
}

service "db" {
  selector   = { app = "db" }
  cluster_ip = "None"
  port "sql" { port = 5432 }
}

service "shifted" {
  selector   = { app = "db" }
  cluster_ip = "None"
  port "sql" {
    port        = 80
    target_port = "sql"
  }
}

pod "broken" {
  node   = node.node2
  labels = { app = "broken" }
  ready  = false
  port "sql" { port = 5432 }
}

service "empty" {
  selector   = { app = "broken" }
  cluster_ip = "None"
  port "sql" { port = 5432 }
}

service "by-hand" {
  cluster_ip = "None"
  port "sql" { port = 5432 }
  endpoint { address = pod.broken.ip }
}

expect "without a ready pod the name has no address" {
  from    = pod.shell
  to      = service.empty
  outcome = "dns"
}

expect "the name leads to every ready pod" {
  proves = ["articles.88", "articles.89"]
  from   = [pod.shell, node.node2]
  to     = service.db
  answer = pod.db
}

expect "a pod keeps its address" {
  from   = pod.shell
  to     = "${service.db.fqdn}:5432"
  answer = pod.db
  source = pod.shell.ip
}

expect "the port is not translated" {
  proves  = ["articles.87"]
  from    = pod.shell
  to      = service.shifted
  outcome = "refused"
}

expect "nobody selects, and the endpoints are those of its name" {
  proves = ["articles.91"]
  from   = pod.shell
  to     = service.by-hand
  answer = pod.broken
}

expect "no rule knows it" {
  proves = ["articles.87"]
  rules {
    on    = node.node1
    tool  = "iptables"
    table = "nat"
    lacks = "-j DNAT"
  }
  rules {
    on    = node.node1
    chain = "KUBE-SERVICES"
    has   = "-j KUBE-NODEPORTS"
    count = 1
  }
}
