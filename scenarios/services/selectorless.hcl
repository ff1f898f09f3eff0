# What you will see: a service without a selector. Its endpoints are the ones listed in
# the file, whatever they are: a host outside the cluster, a pod, or one that is not
# ready and therefore not used.
#
#   shell ──▶ cluster IP of db  ──▶ database:15432 outside, which sees the node
#   shell ──▶ cluster IP of web ──▶ a
#
# What to try: remove ready = false, and pod "b" answers, too.
#
# The proof: "a cluster IP may lead outside" and "or to a pod", which is only the ready
# one.

node "node1" {}
node "node2" {}

client "database" {
  port "sql" { port = 15432 }
}

pod "a" {
  node = node.node1
  port "http" { port = 8080 }
}

pod "b" {
  node = node.node2
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "db" {
  port "sql" { port = 5432 }
  endpoint {
    address = client.database.ip
    port    = 15432
  }
}

service "web" {
  port "http" {
    port        = 80
    target_port = "http"
  }
  endpoint { pod = pod.a }
  endpoint {
    pod   = pod.b
    ready = false
  }
}

service "nothing" {
  port "http" { port = 80 }
}

expect "a cluster IP may lead outside" {
  from   = [pod.shell, node.node1]
  to     = service.db
  answer = client.database
  source = node.node1.ip
}

expect "or to a pod" {
  from   = [pod.shell, node.node2]
  to     = service.web
  answer = pod.a
  count  = 20
}

expect "an endpoint that is not ready is not used, though it answers" {
  from   = pod.shell
  to     = pod.b
  answer = pod.b
}

expect "without endpoints it is refused" {
  from    = pod.shell
  to      = service.nothing
  outcome = "refused"
}
