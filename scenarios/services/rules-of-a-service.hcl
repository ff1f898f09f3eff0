# What you will see: what one service and one policy are in the kernel, in the words of
# iptables-save and ipset save: the chain of every service, the chain of this one, the two
# endpoints that take turns, and the set of those who may connect. The cluster IP is on no
# interface, and yet it is served: each connection meets one rule of KUBE-SERVICES.
#
#   shell (node1) ──▶ 10.96.5.5:80 ──▶ KUBE-SERVICES ──▶ KUBE-SVC-… ──▶ KUBE-SEP-… ──▶ web (node2)
#
# What to try: netlab rules node1 --table nat, and netlab explain shell web:80. Give the
# service another port, and see which claims fail, and in which words.
#
# The proof: "the service is a chain of chains", "a policy is a set of addresses", "the
# address is nowhere", "each connection meets one rule".

network {
  mode         = "host-gw"
  service_cidr = "10.96.0.0/16"
}

node "node1" {}
node "node2" {}

pod "shell" {
  node   = node.node1
  labels = { app = "shell" }
}

pod "web" {
  count  = 2
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  selector   = { app = "web" }
  cluster_ip = "10.96.5.5"
  port "http" {
    port        = 80
    target_port = "http"
  }
}

policy "web" {
  pod_selector = { app = "web" }
  ingress {
    from { pod_selector = { app = "shell" } }
  }
}

expect "the service is a chain of chains" {
  rules {
    on    = node.node1
    tool  = "iptables"
    table = "nat"
    chain = "KUBE-SERVICES"
    has   = ["-d 10.96.5.5/32 -p tcp", "-m addrtype --dst-type LOCAL -j KUBE-NODEPORTS"]
    lacks = "-d 10.96.5.6/32"
  }
  rules {
    on    = node.node1
    chain = "KUBE-SERVICES"
    has   = "--dport 80 -j KUBE-SVC-CDGGSHYLG3RE2FKL"
    count = 1
  }
  rules {
    on     = node.node1
    table  = "nat"
    chain  = "KUBE-POSTROUTING"
    equals = <<-EOT
      # what kube-proxy marked before is masqueraded, and the mark taken off
      -A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
      -A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
      -A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
    EOT
  }
  rules {
    on     = node.node1
    chain  = "KUBE-XLB-CDGGSHYLG3RE2FKL" # of older layouts
    absent = true
  }
}

expect "a policy is a set of addresses" {
  rules {
    on    = node.node2
    set   = "KUBE-SRC-W3PNDXQQMDULXWZK"
    has   = "add KUBE-SRC-W3PNDXQQMDULXWZK ${pod.shell.ip}"
    count = 1
  }
}

expect "the address is nowhere" {
  interface {
    on      = node.node1
    address = service.web.cluster_ip
    absent  = true
  }
  run {
    on      = node.node1
    command = ["sysctl", "-n", "net.ipv4.ip_forward"]
    output  = "1"
  }
  run {
    on      = node.node1
    command = ["ip", "link", "show", "kube-ipvs0"] # where proxy mode ipvs has it
    status  = 1
    matches = "does not exist"
  }
}

expect "each connection meets one rule" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  rules {
    on      = node.node1
    table   = "nat"
    chain   = "KUBE-SERVICES"
    counted = 1
  }
  rules {
    on      = node.node2
    table   = "nat"
    chain   = "KUBE-SERVICES"
    counted = 0
  }
}
