# What you will see: Kubernetes issue 100698, conntrack entries that survive when a
# service is switched to other endpoints. A connection is translated by its conntrack
# entry, not by the rules, so an existing one stays with its pod for as long as that pod
# lives; only new ones go to the new endpoints. kube-proxy deletes stale entries for UDP
# only: a TCP connection lasts until its ends close it.
#
#   laptop ──▶ node1:30080 ──▶ blue (node2)       new connections, selector color=blue
#   laptop ──▶ node1:30080 ──▶ green (node1)      after the switch
#
# What to try: netlab up on this file; in one terminal netlab exec laptop -- nc
# 192.168.0.11 30080, and type lines; in another netlab up --var color=green on this
# file. The lines are still answered by blue; a new nc is answered by green.
#
# The proof: "new connections go to the selected color", for both colors.

variable "color" {
  type        = string
  default     = "blue"
  description = "the pods that the service selects"
  validation {
    condition     = contains(["blue", "green"], var.color)
    error_message = "The color must be blue or green."
  }
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  for_each = { green = node.node1.name, blue = node.node2.name }
  node     = each.value
  labels   = { app = "web", color = each.key }
  port "http" { port = 8080 }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web", color = var.color }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "new connections go to the selected color" {
  proves = ["articles.183", "articles.184"]
  from   = client.laptop
  to     = [for n in node : "${n.ip}:30080"]
  answer = pod.web[var.color]
  count  = 20
  rules {
    on    = node.node1
    table = "nat"
    has   = "-j DNAT --to-destination ${pod.web[var.color].ip}:8080"
    lacks = "-j DNAT --to-destination ${pod.web[var.color == "blue" ? "green" : "blue"].ip}:8080"
  }
}

expect "both pods answer directly" {
  from   = node.node1
  to     = [pod.web["blue"], pod.web["green"]]
  source = node.node1
}
