# What you will see: three pods share the connections of a service equally, by rules that
# say a third, a half, and the rest. They are tried in order: the first takes a third of
# all, the second half of what is left, the last everything that is left then. A third for
# each of three rules would not do: each would leave two thirds to the next, and what the last
# one leaves, 8 of 27 connections, would match no rule and get no pod.
#
#   all ──1/3──▶ web[0]
#    └──2/3──1/2──▶ web[1]
#             └──1/3 of all──▶ web[2]
#
# What to try: netlab test --var replicas=5 on this file; netlab explain shell web:80, which
# follows every branch with its probability.
#
# The proof: "equal shares", "by unequal rules" and "once chosen, for the whole connection".

variable "replicas" {
  description = "pods behind the service"
  type        = number
  default     = 3
}

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

pod "web" {
  count  = var.replicas
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" { node = node.node1 }

service "web" {
  cluster_ip = "10.96.0.80"
  selector   = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "equal shares" {
  proves = ["articles.10", "articles.46", "articles.193", "articles.241", "articles.242"]
  from   = pod.shell
  to     = service.web
  answer = pod.web
  spread { tolerance = 0.4 } # half for one of three would be within a half
}

expect "by unequal rules" {
  proves = ["articles.46", "articles.192", "articles.193"]
  rules {
    on    = node.node1
    chain = "KUBE-SVC-CDGGSHYLG3RE2FKL"
    has   = "-m statistic --mode random --probability"
    count = var.replicas - 1 # the last takes the rest
  }
  dynamic "rules" {
    for_each = var.replicas == 3 ? ["0.33333333349", "0.50000000000"] : [] # as the kernel rounds
    content {
      on    = node.node1
      chain = "KUBE-SVC-CDGGSHYLG3RE2FKL"
      has   = "--probability ${rules.value}"
      count = 1
    }
  }
}

expect "once chosen, for the whole connection" {
  proves = ["articles.12", "articles.13", "articles.52", "articles.53"]
  from   = pod.shell
  to     = service.web
  answer = pod.web
  rules {
    on      = node.node1
    table   = "nat"
    chain   = "KUBE-SERVICES"
    has     = "-d 10.96.0.80/32"
    counted = 1 # of all packets of a connection the table nat sees the first
  }
  tracked {
    on                = node.node1
    source            = pod.shell
    destination       = "10.96.0.80:80"
    reply_source      = pod.web
    reply_destination = pod.shell
  }
  seen { # the reply comes from the address that was dialed
    on          = pod.shell
    direction   = "in"
    source      = "10.96.0.80:80"
    destination = pod.shell
  }
  seen {
    on     = pod.shell
    source = pod.web
    absent = true
  }
}
