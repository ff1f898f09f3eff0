# What you will see: the same service by iptables and by IPVS. iptables has three rules for
# each endpoint of each service, and the first packet to the last service is compared with a rule
# of each other one; IPVS has a table of its own, by address and port, and the same 20 rules for 3
# pods or for 300. Its scheduler takes turns, where iptables draws lots.
#
#   shell ──▶ 10.96.0.80:80 ──▶ KUBE-SVC-… ──lots──▶ web      3 rules per pod
#   shell ──▶ 10.96.0.80:80 (kube-ipvs0) ──turns──▶ web       1 real server per pod
#
# What to try: netlab rules node1 --var pods=300 --matrix proxy=ipvs -f and this file; netlab bench
# --only proxies. ip_vs is missing on many machines: netlab vm test on this file.
#
# The proof: "rules per pod, or none" and "equal shares".

matrix { proxy = ["iptables", "ipvs"] }

variable "pods" {
  description = "pods behind the service"
  type        = number
  default     = 3
}

locals {
  ipvs = proxy.mode == "ipvs"
}

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

pod "web" {
  count  = var.pods
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

expect "rules per pod, or none" {
  proves = ["articles.203", "articles.206"]
  rules {
    on    = node.node1
    tool  = "iptables"
    table = "nat"
    count = local.ipvs ? 20 : 17 + 3 * var.pods
  }
  dynamic "rules" {
    for_each = local.ipvs ? ["ipvsadm"] : []
    content {
      on    = node.node1
      tool  = rules.value
      has   = "-t 10.96.0.80:80"
      count = 1 + var.pods
    }
  }
}

expect "equal shares" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  spread { tolerance = 0.5 }
}
