# What you will see: who gets a connection is a matter of the scheduler. wrr gives each
# endpoint as many in turn as its weight says; one of weight 0 gets none.
#
#   shell ──▶ cluster IP ──wrr──▶ web-0 (weight 3), web-1 (weight 1), web-2 (weight 0)
#
# What to try: netlab test --var scheduler=rr on this file: "connections follow the
# weights" fails, since rr takes turns whatever the weights are. wlc and sed look at what
# is open; sh keeps a client with its endpoint, and refuses whom it would give to web-2;
# dh asks for the destination, so that one endpoint gets all; mh hashes address and port.
# netlab exec node1 -- ipvsadm -Ln --stats counts.
#
# The proof: "connections follow the weights", "weight 0 is nobody".

variable "scheduler" {
  type        = string
  default     = "wrr"
  description = "IPVS scheduler of all services"
}

proxy {
  mode = "ipvs"
  ipvs {
    scheduler = var.scheduler
  }
}

node "node1" {}
node "node2" {}

pod "web" {
  count = 3
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  port "http" {
    port        = 80
    target_port = "http"
  }
  endpoint {
    pod    = pod.web[0]
    weight = 3
  }
  endpoint {
    pod    = pod.web[1]
    weight = 1
  }
  endpoint {
    pod    = pod.web[2]
    weight = 0
  }
}

expect "connections follow the weights" {
  from   = pod.shell
  to     = service.web
  answer = [pod.web[0], pod.web[1]]
  count  = 80
  spread {
    tolerance = 0.4
    weights   = { "web-0" = 3, "web-1" = 1 }
  }
}

expect "weight 0 is nobody" {
  from   = node.node2
  to     = service.web
  answer = [pod.web[0], pod.web[1]]
}
