# What you will see: how does one limit where an application may connect? With egress
# rules: here to the cluster's DNS and to its own database, and to nothing else.
# Replies to connections that others open to it are not egress, and pass.
#
#   app ──▶ dns:53 (UDP, TCP)     app ──▶ db:5432     app ── ✗ ──▶ anything else
#
# What to try: remove the policy "allow-dns", and see name lookups time out: the most
# common mistake with egress policies.
#
# The proof: "the database", "DNS over UDP" and "nothing else".

node "node1" {}
node "node2" {}

client "internet" {
  port "http" { port = 80 }
}

namespace "kube-system" {}

pod "app" {
  node   = node.node1
  labels = { app = "app" }
  port "http" { port = 80 }
}

pod "db" {
  node   = node.node2
  labels = { app = "db" }
  port "sql" { port = 5432 }
  port "http" { port = 80 }
}

pod "dns" {
  namespace = "kube-system"
  node      = node.node2
  labels    = { k8s-app = "kube-dns" }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
  port "dns-tcp" { port = 53 }
}

pod "shell" { node = node.node2 }

policy "app-egress" {
  pod_selector = { app = "app" }
  policy_types = ["Egress"]
  egress {
    to { pod_selector = { app = "db" } }
    port { port = 5432 }
  }
}

policy "allow-dns" {
  pod_selector = {}
  policy_types = ["Egress"]
  egress {
    to {
      namespace_selector = { "kubernetes.io/metadata.name" = "kube-system" }
      pod_selector       = { k8s-app = "kube-dns" }
    }
    port {
      port     = 53
      protocol = "udp"
    }
    port { port = 53 }
  }
}

expect "the database" {
  from = pod.app
  to   = "${pod.db.ip}:5432"
}

expect "DNS over UDP" {
  from     = [pod.app, pod.db]
  to       = "${pod.dns.ip}:53"
  protocol = "udp"
}

expect "DNS over TCP" {
  from = [pod.app, pod.db]
  to   = "${pod.dns.ip}:53"
}

expect "nothing else" {
  from    = pod.app
  to      = ["${pod.db.ip}:80", "${client.internet.ip}:80"]
  outcome = "timeout"
}

expect "a node is not limited" {
  from = node.node1
  to   = ["${pod.db.ip}:80", "${client.internet.ip}:80"]
}

expect "replies are not egress" {
  from   = node.node2
  to     = pod.app
  answer = pod.app
}
