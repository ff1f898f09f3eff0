# What you will see: several ports on one service, two of them with the same number. A
# port is a number and a protocol, and each has its own chains: the protocol is part of
# the hash in their names.
#
#   shell ──▶ cluster IP:53 over udp ──▶ dns:5353 over udp
#   shell ──▶ cluster IP:53 over tcp ──▶ dns:5354 over tcp
#
# What to try: netlab rules node1, and compare the hashes of the two.
#
# The proof: "udp" and "tcp on the same number".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "dns" {
  node   = node.node2
  labels = { app = "dns" }
  port "dns" {
    port     = 5353
    protocol = "udp"
  }
  port "dns-tcp" { port = 5354 }
  port "metrics" { port = 9153 }
}

pod "shell" {
  node = node.node1
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
  port "dns-tcp" {
    port        = 53
    target_port = "dns-tcp"
    node_port   = 30053
  }
  port "metrics" {
    port        = 9153
    target_port = "metrics"
  }
}

expect "udp" {
  from   = pod.shell
  to     = service.dns
  port   = "dns"
  answer = pod.dns
  source = pod.shell.ip
}

expect "tcp on the same number" {
  from   = pod.shell
  to     = service.dns
  port   = "dns-tcp"
  answer = pod.dns
  source = pod.shell.ip
}

expect "a third port" {
  from   = pod.shell
  to     = service.dns
  port   = 9153
  answer = pod.dns
}

expect "node ports may share a number, too" {
  from     = client.laptop
  to       = "${node.node1.ip}:30053"
  protocol = "udp"
  answer   = pod.dns
}

expect "and over tcp" {
  from   = client.laptop
  to     = "${node.node1.ip}:30053"
  answer = pod.dns
}
