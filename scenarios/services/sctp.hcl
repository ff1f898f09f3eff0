# What you will see: a service over SCTP, the third protocol of Kubernetes services.
# Its ports may have the same numbers as those of TCP, and have chains of their own.
#
#   shell ──▶ cluster IP:7000 over sctp ──▶ node1: DNAT ──▶ signal:7000
#
# What to try: netlab doctor shows whether this kernel supports SCTP; without it this
# scenario is skipped.
#
# The proof: "sctp" and "tcp on the same number".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "signal" {
  node   = node.node2
  labels = { app = "signal" }
  port "sigtran" {
    port     = 7000
    protocol = "sctp"
  }
  port "http" { port = 7000 }
}

pod "shell" {
  node = node.node1
}

service "signal" {
  type     = "NodePort"
  selector = { app = "signal" }
  port "sigtran" {
    port      = 7000
    protocol  = "sctp"
    node_port = 30070
  }
  port "http" {
    port      = 7000
    node_port = 30070
  }
}

expect "sctp" {
  from     = pod.shell
  to       = service.signal
  protocol = "sctp"
  answer   = pod.signal
  source   = pod.shell.ip
}

expect "tcp on the same number" {
  from     = pod.shell
  to       = service.signal
  protocol = "tcp"
  answer   = pod.signal
  source   = pod.shell.ip
}

expect "the node port" {
  from     = client.laptop
  to       = "${node.node1.ip}:30070"
  protocol = "sctp"
  answer   = pod.signal
  source   = node.node1
}
