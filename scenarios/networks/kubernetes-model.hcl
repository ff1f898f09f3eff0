# What you will see: what Kubernetes demands of every pod network, as one expectation. Rule 1: pods
# reach all pods without NAT. Rule 2: nodes and their pods reach each other without NAT. Rule 3: the
# address that a pod sees on itself is the one that others see. And the goals of it: processes of a
# pod reach each other on localhost, pods reach pods and services, the outside reaches services.
#
# What to try: netlab test --matrix network=vxlan,host-gw,none FILE, and see which rules mode none
# does not follow.
#
# The proof: "the Kubernetes network model".

variable "mode" {
  description = "The pod network. In mode none, rules 1 and 3 fail across nodes."
  default     = "vxlan"
}

network {
  mode = var.mode
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  count  = 4
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "agent" {
  node         = node.node1
  host_network = true
  port "metrics" { port = 9100 }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "the Kubernetes network model" {
  proves = ["articles.137", "articles.139", "articles.140", "articles.141"]
  model  = "kubernetes"
}
