# What you will see: the rules as an older version of Kubernetes wrote them, here 1.19:
# KUBE-XLB- instead of KUBE-EXT- and KUBE-SVL-, KUBE-MARK-DROP, and the kubelet's canary.
# Packets are treated as in local-policy.hcl: the layout changed, not the behaviour.
#
#   laptop ──▶ node1:31380 ──▶ KUBE-XLB-… ──▶ web, which sees the laptop
#   laptop ──▶ node2:31380 ──▶ KUBE-XLB-… ──▶ KUBE-MARK-DROP
#
# What to try: netlab rules node1, and compare it with that of local-policy.hcl; the same
# with --var layout=1.14, where ports without a name end in a colon, which changes every
# hash, with 1.1, 1.26, or current.
#
# The proof: "the pod sees the client's address" and "a node without an endpoint
# drops".

variable "layout" {
  description = "the version of Kubernetes whose rules to write"
  type        = string
  default     = "1.19"
}

proxy {
  mode = "iptables"
  iptables {
    layout = var.layout
  }
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "broken" {
  node   = node.node2
  labels = { app = "broken" }
  ready  = false
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
}

service "web" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "" {
    port        = 80
    target_port = "http"
    node_port   = 31380
  }
}

service "all" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31381
  }
}

service "broken" {
  selector = { app = "broken" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "the pod sees the client's address" {
  from   = client.laptop
  to     = "${node.node1.ip}:31380"
  answer = pod.web
  source = client.laptop.ip
}

expect "a node without an endpoint drops" {
  from    = client.laptop
  to      = "${node.node2.ip}:31380"
  outcome = "timeout"
}

expect "pods are short-circuited to all endpoints" {
  from   = pod.shell
  to     = "${node.node2.ip}:31380"
  answer = pod.web
  source = pod.shell.ip
}

expect "policy Cluster masquerades" {
  from   = client.laptop
  to     = "${node.node2.ip}:31381"
  answer = pod.web
  source = node.node2
}

expect "the load balancer address" {
  from   = pod.shell
  to     = "${service.all.load_balancer_ip}:80"
  answer = pod.web
  source = node.node2
}

expect "a service without endpoints is refused" {
  from    = pod.shell
  to      = service.broken
  outcome = "refused"
}
