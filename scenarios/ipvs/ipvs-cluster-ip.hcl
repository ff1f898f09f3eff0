# What you will see: the cluster IP 10.0.1.175 of the service hostnames, as IPVS serves
# it. Every node has it as a real address, on its device kube-ipvs0; a virtual server
# there spreads connections over three pods, round robin.
#
#   shell ──▶ 10.0.1.175:80 (kube-ipvs0 of node1) ──rr──▶ 10.244.3.6:9376
#                                                    ├──▶ 10.244.1.7:9376
#                                                    └──▶ 10.244.2.3:9376
#
# What to try: netlab exec node1 -- ipvsadm -Ln, netlab exec node1 -- ip addr show
# kube-ipvs0 and netlab rules node1: few rules, however many services; cluster-ip.hcl
# has one per endpoint. Needs the kernel's ip_vs; where that is missing: netlab vm up on
# this file.
#
# The proof: "the pods take turns", "a pod keeps its address" and "the address has no
# other port".

network {
  pod_cidr     = "10.244.0.0/16"
  service_cidr = "10.0.0.0/16"
}

proxy {
  mode = "ipvs"
}

node "node1" {}
node "node2" {}
node "node3" {}

pod "hostnames" {
  for_each = { "0uton" = "10.244.3.6", "yp2kp" = "10.244.1.7", "bvc05" = "10.244.2.3" }
  address  = each.value
  node     = "node${split(".", each.value)[2]}"
  labels   = { app = "hostnames" }
  port "http" { port = 9376 }
}

<<<<<<< HEAD
pod "not-yet" { # as no real server, until it is ready
=======
# Not ready, and so no endpoint.
pod "late" {
>>>>>>> wt-e
  node   = node.node2
  labels = { app = "hostnames" }
  ready  = false
  port "http" { port = 9376 }
}

pod "shell" {
  node = node.node1
}

service "hostnames" {
  cluster_ip = "10.0.1.175"
  selector   = { app = "hostnames" }
  port "default" {
    port        = 80
    target_port = 9376
  }
}

expect "the pods take turns" {
  proves = ["articles.12", "articles.202", "articles.206"]
  from   = pod.shell
  to     = "10.0.1.175:80"
  answer = values(pod.hostnames)
  count  = 60
  spread {
    tolerance = 0.3
  }
}

expect "a virtual server, and a real one per pod" {
  proves = ["articles.200", "articles.201", "articles.209", "articles.210"]
  rules {
    on     = node.node1
    tool   = "ipvsadm"
    equals = <<-EOT
      -A -t 10.0.1.175:80 -s rr
      -a -t 10.0.1.175:80 -r 10.244.1.7:9376 -m -w 1
      -a -t 10.0.1.175:80 -r 10.244.2.3:9376 -m -w 1
      -a -t 10.0.1.175:80 -r 10.244.3.6:9376 -m -w 1
    EOT
  }
}

expect "the address on a device of its own" {
  proves = ["articles.198", "articles.199", "articles.208"]
  interface {
    on      = node.node1
    name    = "kube-ipvs0"
    type    = "dummy"
    address = "10.0.1.175/32"
    up      = true # kube-proxy leaves it down: local addresses work either way
  }
}

expect "a pod keeps its address" {
  from   = pod.shell
  to     = "10.0.1.175:80"
  source = pod.shell.ip
}

expect "a process of a node does not" {
  from   = node.node2
  to     = service.hostnames
  answer = values(pod.hostnames)
  source = node.node2
}

expect "since a rule of iptables masquerades it, not IPVS" {
  proves = ["articles.205"]
  from   = node.node2
  to     = service.hostnames
  answer = values(pod.hostnames)
  source = node.node2
  rules {
    on      = node.node2
    table   = "nat"
    chain   = "KUBE-POSTROUTING"
    has     = "-j MASQUERADE --random-fully"
    counted = 1
  }
}

expect "an endpoint reaches itself" {
  from   = values(pod.hostnames)
  to     = service.hostnames
  answer = values(pod.hostnames)
}

expect "the address has no other port" {
  from    = [pod.shell, node.node1]
  to      = "10.0.1.175:81"
  outcome = "refused"
}

expect "the node has the address, on a device of its own" {
  proves = ["articles.198", "articles.208"]
  interface {
    on      = node.node1
    name    = "kube-ipvs0"
    type    = "dummy"
    address = "10.0.1.175/32"
  }
}

expect "a real server for each pod that is ready" {
  proves = ["articles.200", "articles.201", "articles.209", "articles.210"]
  rules {
    on     = node.node1
    tool   = "ipvsadm"
    equals = <<-EOT
      -A -t 10.0.1.175:80 -s rr
      -a -t 10.0.1.175:80 -r 10.244.1.7:9376 -m -w 1
      -a -t 10.0.1.175:80 -r 10.244.2.3:9376 -m -w 1
      -a -t 10.0.1.175:80 -r 10.244.3.6:9376 -m -w 1
    EOT
  }
}

expect "iptables masquerades what IPVS passes on" {
  proves = ["articles.205"]
  from   = node.node2
  to     = service.hostnames
  answer = values(pod.hostnames)
  source = node.node2
  rules {
    on      = node.node2
    table   = "nat"
    chain   = "KUBE-POSTROUTING"
    has     = "-j MASQUERADE"
    counted = 1
  }
}
