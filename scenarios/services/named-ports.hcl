# What you will see: a target port that is a name. Each pod defines its number, so that
# versions of a program may differ; a pod without such a port is not an endpoint.
#
#   shell ──▶ cluster IP:80   ──▶ v1:8080 or v2:9090
#   shell ──▶ cluster IP:6060 ──▶ refused: no pod has that port
#
# What to try: set target_port = 8080; half of the connections are refused.
#
# The proof: "both versions answer".

node "node1" {}
node "node2" {}

pod "v1" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "v2" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 9090 }
}

pod "other" {
  node   = node.node2
  labels = { app = "web" }
  port "metrics" { port = 9100 }
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
  port "metrics" {
    port        = 9100
    target_port = "metrics"
  }
  port "debug" {
    port        = 6060
    target_port = "debug"
    required    = false
  }
}

expect "both versions answer" {
  from   = [pod.shell, node.node1]
  to     = service.web
  port   = "http"
  answer = [pod.v1, pod.v2]
}

expect "only one has the other port" {
  from   = pod.shell
  to     = service.web
  port   = "metrics"
  answer = pod.other
  count  = 20
}

expect "no pod has the third" {
  from    = pod.shell
  to      = service.web
  port    = "debug"
  outcome = "refused"
}
