# What you will see: the cluster IP 10.0.1.175 is on no interface of any node, answers no
# ping, and serves. It exists in rules alone: the client's own node turns it into the address
# of a pod. These are the rules of Kubernetes as its first readers saw them, to the letter:
# each endpoint marks its own packets in place, an unnamed port ends in a colon, and the
# hashes in the names of chains follow from both.
#
#   shell ──▶ 10.0.1.175:80 ──▶ KUBE-SERVICES ──▶ KUBE-SVC-NWV5X2332I4OT4T3
#                                    1/3 ├──▶ KUBE-SEP-WNBA2IHDGP2BOBGZ ──▶ 10.244.1.7:9376
#                            1/2 of rest ├──▶ KUBE-SEP-X3P2623AGDH6CDF3 ──▶ 10.244.2.3:9376
#                               the rest └──▶ KUBE-SEP-57KPRZ3JQVENLNBR ──▶ 10.244.3.6:9376
#
# What to try: netlab test --var layout=current on this file, which names the chains that newer
# versions call otherwise; netlab explain shell 10.0.1.175:80; netlab up, and netlab exec shell -- ping
# -c 1 -W 1 10.0.1.175.
#
# The proof: "it is nowhere", "it answers no ping", "it serves" and "these rules".

variable "layout" {
  description = "the version of Kubernetes whose rules to write"
  type        = string
  default     = "1.1"
}

network {
  pod_cidr     = "10.244.0.0/16"
  service_cidr = "10.0.0.0/16"
}

proxy {
  mode = "iptables"
  iptables { layout = var.layout }
}

node "node1" {}
node "node2" {}
node "node3" {}

pod "hostnames" {
  for_each = { "0uton" = "10.244.1.7", "yp2kp" = "10.244.2.3", "bvc05" = "10.244.3.6" }
  address  = each.value
  node     = "node${split(".", each.value)[2]}"
  labels   = { app = "hostnames" }
  port "http" { port = 9376 }
}

pod "shell" { node = node.node1 }

service "hostnames" {
  cluster_ip = "10.0.1.175"
  selector   = { app = "hostnames" }
  port "" {
    port        = 80
    target_port = 9376
  }
}

expect "it is nowhere" {
  proves = ["articles.67", "articles.220"]
  dynamic "interface" {
    for_each = [node.node1, node.node2, node.node3]
    content {
      on      = interface.value
      address = service.hostnames.cluster_ip
      absent  = true
    }
  }
}

expect "it answers no ping" {
  proves = ["articles.191"]
  run {
    on      = pod.shell
    command = ["ping", "-c", "1", "-W", "1", service.hostnames.cluster_ip]
    status  = 1
    matches = "100% packet loss"
  }
  run { # a pod does
    on      = pod.shell
    command = ["ping", "-c", "1", "-W", "1", "10.244.2.3"]
    matches = " 0% packet loss"
  }
}

expect "it serves" {
  proves = ["articles.185", "articles.221"]
  from   = pod.shell
  to     = service.hostnames
  answer = values(pod.hostnames)
  source = pod.shell.ip
}

expect "these rules" {
  proves = ["articles.185", "articles.186", "articles.190", "articles.192", "articles.195", "articles.196", "articles.220"]
  rules {
    on    = node.node1
    table = "nat"
    chain = "KUBE-SERVICES"
    has   = "-A KUBE-SERVICES -d 10.0.1.175/32 -p tcp -m comment --comment \"default/hostnames: cluster IP\" -m tcp --dport 80 -j KUBE-SVC-NWV5X2332I4OT4T3"
  }
  rules {
    on     = node.node1
    chain  = "KUBE-SVC-NWV5X2332I4OT4T3"
    equals = <<-EOT
      -A KUBE-SVC-NWV5X2332I4OT4T3 -m comment --comment "default/hostnames:" -m statistic --mode random --probability 0.33332999982 -j KUBE-SEP-WNBA2IHDGP2BOBGZ
      -A KUBE-SVC-NWV5X2332I4OT4T3 -m comment --comment "default/hostnames:" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-X3P2623AGDH6CDF3
      -A KUBE-SVC-NWV5X2332I4OT4T3 -m comment --comment "default/hostnames:" -j KUBE-SEP-57KPRZ3JQVENLNBR
    EOT
  }
  rules {
    on     = node.node1
    chain  = "KUBE-SEP-57KPRZ3JQVENLNBR"
    equals = <<-EOT
      -A KUBE-SEP-57KPRZ3JQVENLNBR -s 10.244.3.6/32 -m comment --comment "default/hostnames:" -j MARK --set-xmark 0x4000/0x4000
      -A KUBE-SEP-57KPRZ3JQVENLNBR -p tcp -m comment --comment "default/hostnames:" -m tcp -j DNAT --to-destination 10.244.3.6:9376
    EOT
  }
  rules {
    on     = node.node1
    chain  = "KUBE-SEP-WNBA2IHDGP2BOBGZ"
    equals = <<-EOT
      -A KUBE-SEP-WNBA2IHDGP2BOBGZ -s 10.244.1.7/32 -m comment --comment "default/hostnames:" -j MARK --set-xmark 0x4000/0x4000
      -A KUBE-SEP-WNBA2IHDGP2BOBGZ -p tcp -m comment --comment "default/hostnames:" -m tcp -j DNAT --to-destination 10.244.1.7:9376
    EOT
  }
  rules {
    on     = node.node1
    chain  = "KUBE-SEP-X3P2623AGDH6CDF3"
    equals = <<-EOT
      -A KUBE-SEP-X3P2623AGDH6CDF3 -s 10.244.2.3/32 -m comment --comment "default/hostnames:" -j MARK --set-xmark 0x4000/0x4000
      -A KUBE-SEP-X3P2623AGDH6CDF3 -p tcp -m comment --comment "default/hostnames:" -m tcp -j DNAT --to-destination 10.244.2.3:9376
    EOT
  }
}
