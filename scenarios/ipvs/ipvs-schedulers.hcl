# What you will see: the scheduler decides which endpoint gets a connection. wrr takes
# turns in proportion to the weights; an endpoint of weight 0 gets none.
#
#   shell ──▶ cluster IP ──wrr──▶ web-0 (weight 3), web-1 (weight 1), web-2 (weight 0)
#
# What to try: netlab test --var scheduler=rr on this file: "connections follow the
# weights" fails, since rr ignores the weights. wlc and sed count open connections; sh
# hashes the client's address, and refuses clients that hash to web-2; dh hashes the
# destination, so one endpoint gets everything; mh hashes address and port. netlab exec
# node1 -- ipvsadm -Ln --stats shows the counters.
#
# The proof: "connections follow the weights", "weight 0 gets nothing".

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
  proves = ["articles.14", "articles.247"]
  from   = pod.shell
  to     = service.web
  answer = [pod.web[0], pod.web[1]]
  count  = 80
  spread {
    tolerance = 0.4
    weights   = { "web-0" = 3, "web-1" = 1 }
  }
}

expect "weight 0 gets nothing" {
  from   = node.node2
  to     = service.web
  answer = [pod.web[0], pod.web[1]]
}
