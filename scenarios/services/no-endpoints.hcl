# What you will see: a service without a usable endpoint refuses immediately, at its
# cluster IP and at its node port: the node answers with an ICMP error, where a
# missing rule would leave the client waiting. A pod that is not ready is not used as
# an endpoint, though it answers when dialed directly.
#
#   shell  ──▶ cluster IP of broken ──▶ refused by the node
#   laptop ──▶ node1:30090          ──▶ refused by the node
#
# What to try: netlab up --var ready=true on this file; two rules disappear and the
# service answers. Then see which expectations fail.
#
# The proof: "the cluster IP is refused" and "the node port is refused".

variable "ready" {
  type        = bool
  default     = false
  description = "whether the pod behind the service is ready"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "broken" {
  node   = node.node1
  labels = { app = "broken" }
  ready  = var.ready
  port "http" { port = 8080 }
}

pod "healthy" {
  node   = node.node2
  labels = { app = "healthy" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
}

service "broken" {
  type     = "NodePort"
  selector = { app = "broken" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30090
  }
}

service "healthy" {
  type     = "NodePort"
  selector = { app = "healthy" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30091
  }
}

expect "the cluster IP is refused" {
  proves  = ["articles.187", "articles.188"]
  from    = [pod.shell, pod.broken, node.node1]
  to      = service.broken
  outcome = "refused"
}

expect "every attempt is refused, also in a burst" {
  from    = pod.shell
  to      = service.broken
  outcome = "refused"
  count   = 200
}

expect "the node port is refused" {
  from    = client.laptop
  to      = [for n in node : "${n.ip}:30090"]
  outcome = "refused"
}

expect "the pod itself answers" {
  proves = ["articles.187", "articles.188"]
  from   = pod.shell
  to     = pod.broken
  answer = pod.broken
}

expect "a service with an endpoint answers" {
  from   = [pod.shell, node.node1]
  to     = service.healthy
  answer = pod.healthy
}

expect "and so does its node port" {
  from   = client.laptop
  to     = [for n in node : "${n.ip}:30091"]
  answer = pod.healthy
}
