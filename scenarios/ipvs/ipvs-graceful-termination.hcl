# What you will see: how IPVS drains an endpoint. A real server of weight 0 gets no new
# connections and keeps the ones it has. A TCP endpoint removed from a service stays
# with weight 0 until its last connection is closed; a service with only draining
# endpoints refuses. Mode iptables removes the rules immediately, and existing
# connections live on in conntrack.
#
#   shell ──▶ draining ──▶ web-0           web-1 has weight 0
#   shell ──▶ drained  ──▶ (refused)       web-1 is the only one
#
# What to try: netlab up on this file; netlab exec shell -- nc with the cluster IP of
# service scaled, and leave it open; then netlab up --var replicas=1 on this file, and
# netlab exec node1 -- ipvsadm -Ln: the endpoint is there with weight 0 as long as the
# connection is open.
#
# The proof: "a draining endpoint gets no new connections", "a service with only
# draining endpoints refuses".

variable "replicas" {
  type        = number
  default     = 2
  description = "pods behind the service scaled"
}

proxy {
  mode = "ipvs"
}

node "node1" {}
node "node2" {}

pod "web" {
  count  = 2
  node   = "node${count.index + 1}"
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "scaled" {
  count  = var.replicas
  labels = { app = "scaled" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "draining" {
  port "http" {
    port        = 80
    target_port = "http"
  }
  endpoint { pod = pod.web[0] }
  endpoint {
    pod    = pod.web[1]
    weight = 0
  }
}

service "drained" {
  port "http" {
    port        = 80
    target_port = "http"
  }
  endpoint {
    pod    = pod.web[1]
    weight = 0
  }
}

service "scaled" {
  selector = { app = "scaled" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "a draining endpoint gets no new connections" {
  from   = [pod.shell, node.node2]
  to     = service.draining
  answer = pod.web[0]
  count  = 20
}

expect "a service with only draining endpoints refuses" {
  from    = [pod.shell, node.node2]
  to      = service.drained
  outcome = "refused"
}

expect "scaled endpoints answer" {
  from   = pod.shell
  to     = service.scaled
  answer = pod.scaled
}
