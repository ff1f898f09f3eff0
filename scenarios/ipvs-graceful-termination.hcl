# What you will see: how IPVS lets go of an endpoint. A real server of weight 0 gets no new
# connections and keeps those that it has. A TCP endpoint that leaves a service stays with
# weight 0 until its last connection is over; a service of which only such are left
# refuses. Mode iptables takes the rules away at once, and connections live on in
# connection tracking.
#
#   shell ──▶ draining ──▶ web-0           web-1 has weight 0
#   shell ──▶ drained  ──▶ (refused)       web-1 is the only one
#
# What to try: netlab up this file; netlab exec shell -- nc with the cluster IP of
# service leaving, and leave it open; then netlab up --var replicas=1 on this file, and
# netlab exec node1 -- ipvsadm -Ln: the endpoint is there with weight 0 while you hold on.
#
# The proof: "nobody new goes to an endpoint that drains", "only draining ones left".

variable "replicas" {
  type        = number
  default     = 2
  description = "pods behind the service leaving"
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

pod "leaving" {
  count  = var.replicas
  labels = { app = "leaving" }
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

service "leaving" {
  selector = { app = "leaving" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "nobody new goes to an endpoint that drains" {
  from   = [pod.shell, node.node2]
  to     = service.draining
  answer = pod.web[0]
  count  = 20
}

expect "only draining ones left" {
  from    = [pod.shell, node.node2]
  to      = service.drained
  outcome = "refused"
}

expect "the others get all" {
  from   = pod.shell
  to     = service.leaving
  answer = pod.leaving
}
