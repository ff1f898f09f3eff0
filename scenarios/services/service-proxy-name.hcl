# What you will see: a service that kube-proxy leaves to another proxy. With the label
# service.kubernetes.io/service-proxy-name, whatever its value, no node has a rule for
# it; packets to its cluster IP follow the default route and are lost.
#
#   shell ──▶ cluster IP of managed ──▶ web
#   shell ──▶ cluster IP of foreign ──▶ the underlay ──▶ lost
#
# What to try: remove the label: netlab up programs the service again.
#
# The proof: "a foreign service is not programmed".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "managed" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "foreign" {
  type     = "NodePort"
  selector = { app = "web" }
  labels   = { "service.kubernetes.io/service-proxy-name" = "other" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

expect "a foreign service is not programmed" {
  from    = pod.shell
  to      = service.foreign
  outcome = "timeout"
}

expect "its node port refuses" {
  from    = client.laptop
  to      = "${node.node1.ip}:30081"
  outcome = "refused"
}

expect "the same pods behind a managed service" {
  from   = pod.shell
  to     = [service.managed, pod.web]
  answer = pod.web
}

expect "and at its node port" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
}
