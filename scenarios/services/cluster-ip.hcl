# What you will see: no interface has a cluster IP. The client's node rewrites it to
# the address of one endpoint, chosen per connection; a pod keeps its own source
# address, a process of a node does not.
#
#   shell (node3) ──▶ 10.96.x.y:80 ──DNAT──▶ web-0, web-1 or web-2
#
# What to try: netlab exec shell -- ip route, where the cluster IP does not occur;
# netlab rules node3, and follow KUBE-SERVICES, KUBE-SVC-…, KUBE-SEP-…; then
# netlab up --var replicas=5 on this file.
#
# The proof: "each of the pods answers", "a pod keeps its address" and "the answers
# are balanced".

variable "replicas" {
  type        = number
  default     = 3
  description = "pods behind the service"
  validation {
    condition     = var.replicas >= 1
    error_message = "For a service without pods, see no-endpoints.hcl."
  }
}

node "node1" {}
node "node2" {}
node "node3" {}

pod "web" {
  count  = var.replicas
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "dns" {
    port     = 5353
    protocol = "udp"
  }
}

pod "shell" {
  node = node.node3
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
  port "dns" {
    port        = 53
    target_port = "dns"
    protocol    = "udp"
  }
}

expect "each of the pods answers" {
  from   = pod.shell
  to     = service.web
  port   = "http"
  answer = pod.web
}

expect "a pod keeps its address" {
  proves = ["articles.16"]
  from   = pod.shell
  to     = "web:80"
  source = pod.shell.ip
}

expect "udp works the same" {
  from   = pod.shell
  to     = service.web
  port   = "dns"
  answer = pod.web
  source = pod.shell.ip
}

expect "a process of a node is masqueraded" {
  proves = ["articles.237", "articles.239"]
  from   = node.node3
  to     = service.web
  port   = "http"
  answer = pod.web
  source = node.node3
}

expect "the answers are balanced" {
  from   = pod.shell
  to     = service.web
  port   = "http"
  answer = pod.web
  spread {
    tolerance = 0.5
  }
}
