# What you will see: Kubernetes issue 59368, datagrams to a node port that still went to
# a pod that was gone. A client that keeps its source port keeps its conntrack entry,
# and with it the pod that was chosen first. When endpoints change, stale entries of a
# UDP service (those that lead to a former endpoint) are deleted; TCP entries are left
# alone.
#
#   laptop:40000 ──▶ node1:30053 over udp ──▶ a live pod
#
# What to try: netlab up on this file; netlab exec laptop -- nc -u -p 40000 192.168.0.11
# 30053, and, while it runs, netlab up --var pods=1 on this file: the next line is
# answered by the remaining pod. netlab exec node1 -- conntrack -L -p udp
#
# The proof: "datagrams reach every pod", with one pod and with two.

variable "pods" {
  type        = number
  default     = 2
  description = "pods behind the service"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "dns" {
  count  = var.pods
  labels = { app = "dns" }
  port "dns" {
    port     = 5353
    protocol = "udp"
  }
}

service "dns" {
  type     = "NodePort"
  selector = { app = "dns" }
  port "dns" {
    port        = 53
    protocol    = "udp"
    target_port = "dns"
    node_port   = 30053
  }
}

expect "datagrams reach every pod" {
  from     = client.laptop
  to       = "${node.node1.ip}:30053"
  protocol = "udp"
  answer   = pod.dns
  source   = node.node1
}

expect "and from inside the cluster" {
  from   = node.node2
  to     = service.dns
  answer = pod.dns
}
