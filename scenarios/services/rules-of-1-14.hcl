# What you will see: the rules of one service on a node of Kubernetes 1.14, line by line. The
# port has no name, so that the service is called default/nginx: with a colon, which is in every
# hash; the rules of its endpoints lost their comments by a mistake of that version; INPUT leads
# to KUBE-SERVICES, too; and with no pod addresses configured nothing is marked for masquerading
# on its way to the cluster IP.
#
#   laptop ──▶ node0:30180 ──▶ KUBE-NODEPORTS ──▶ KUBE-SVC-4N57TFCL4MD7ZTDA ──▶ KUBE-SEP-…
#
# What to try: netlab rules node0 -f and this file, the same with --var layout=1.19, and see what
# changed in five versions.
#
# The proof: "the table nat", "the table filter" and "the node port".

variable "layout" {
  description = "the version of Kubernetes whose rules to write"
  type        = string
  default     = "1.14"
}

network {
  mode         = "host-gw"
  pod_cidr     = "172.17.0.0/16"
  service_cidr = "10.96.0.0/12"
}

proxy {
  mode         = "iptables"
  detect_local = "none"
  iptables { layout = var.layout }
}

node "node0" {}

client "laptop" {}

pod "nginx" {
  for_each = { a = "172.17.0.4", b = "172.17.0.5" }
  address  = each.value
  labels   = { app = "nginx" }
  port "http" { port = 80 }
}

pod "shell" {}

service "nginx" {
  type       = "NodePort"
  cluster_ip = "10.105.178.199"
  selector   = { app = "nginx" }
  port "" {
    port        = 8080
    target_port = 80
    node_port   = 30180
  }
}

# Both tables as printed, in their order, and nothing else. What is between "besides" and "the dump
# again" is not in the dump: flannel's rules, which it leaves out, and those that later versions
# added and that every layout has.
expect "the table nat" {
  proves = ["articles.44", "articles.69", "articles.258", "articles.260", "articles.261", "articles.262", "articles.263", "articles.264"]
  rules {
    on     = node.node0
    tool   = "iptables"
    table  = "nat"
    equals = <<-EOT
      -A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      -A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      -A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
      # besides
      -A POSTROUTING -m comment --comment "flanneld masq" -j FLANNEL-POSTRTG
      -A FLANNEL-POSTRTG -m mark --mark 0x4000/0x4000 -m comment --comment "flanneld masq" -j RETURN
      -A FLANNEL-POSTRTG -s 172.17.0.0/24 -d 172.17.0.0/16 -m comment --comment "flanneld masq" -j RETURN
      -A FLANNEL-POSTRTG -s 172.17.0.0/16 -d 172.17.0.0/24 -m comment --comment "flanneld masq" -j RETURN
      -A FLANNEL-POSTRTG ! -s 172.17.0.0/16 -d 172.17.0.0/24 -m comment --comment "flanneld masq" -j RETURN
      -A FLANNEL-POSTRTG -s 172.17.0.0/16 ! -d 224.0.0.0/4 -m comment --comment "flanneld masq" -j MASQUERADE --random-fully
      -A FLANNEL-POSTRTG ! -s 172.17.0.0/16 -d 172.17.0.0/16 -m comment --comment "flanneld masq" -j MASQUERADE --random-fully
      # the dump again
      -A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000
      -A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
      -A KUBE-NODEPORTS -p tcp -m comment --comment "default/nginx:" -m tcp --dport 30180 -j KUBE-MARK-MASQ
      -A KUBE-NODEPORTS -p tcp -m comment --comment "default/nginx:" -m tcp --dport 30180 -j KUBE-SVC-4N57TFCL4MD7ZTDA
      -A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -m mark --mark 0x4000/0x4000 -j MASQUERADE
      -A KUBE-SEP-43IWXJI557JKCKCF -s 172.17.0.5/32 -j KUBE-MARK-MASQ
      -A KUBE-SEP-43IWXJI557JKCKCF -p tcp -m tcp -j DNAT --to-destination 172.17.0.5:80
      -A KUBE-SEP-UZXILYFQQ2IZUWN5 -s 172.17.0.4/32 -j KUBE-MARK-MASQ
      -A KUBE-SEP-UZXILYFQQ2IZUWN5 -p tcp -m tcp -j DNAT --to-destination 172.17.0.4:80
      -A KUBE-SERVICES -d 10.105.178.199/32 -p tcp -m comment --comment "default/nginx: cluster IP" -m tcp --dport 8080 -j KUBE-SVC-4N57TFCL4MD7ZTDA
      -A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
      -A KUBE-SVC-4N57TFCL4MD7ZTDA -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-UZXILYFQQ2IZUWN5
      -A KUBE-SVC-4N57TFCL4MD7ZTDA -j KUBE-SEP-43IWXJI557JKCKCF
    EOT
  }
}

expect "the table filter" {
  proves = ["articles.44", "articles.258", "articles.265", "articles.266", "articles.267", "articles.268"]
  rules {
    on     = node.node0
    tool   = "iptables"
    table  = "filter"
    equals = <<-EOT
      -A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      # besides
      -A INPUT -m comment --comment "kubernetes health check service ports" -j KUBE-NODEPORTS
      # the dump again
      -A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
      -A INPUT -j KUBE-FIREWALL
      # besides
      -A FORWARD -j KUBE-FIREWALL
      # the dump again
      -A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
      -A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      # besides
      -A FORWARD -m conntrack --ctstate NEW -m comment --comment "kubernetes externally-visible service portals" -j KUBE-EXTERNAL-SERVICES
      -A FORWARD -m comment --comment "flanneld forward" -j FLANNEL-FWD
      # the dump again
      -A OUTPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      -A OUTPUT -j KUBE-FIREWALL
      # besides
      -A FLANNEL-FWD -s 172.17.0.0/16 -m comment --comment "flanneld forward" -j ACCEPT
      -A FLANNEL-FWD -d 172.17.0.0/16 -m comment --comment "flanneld forward" -j ACCEPT
      # the dump again
      -A KUBE-FIREWALL -m comment --comment "kubernetes firewall for dropping marked packets" -m mark --mark 0x8000/0x8000 -j DROP
      # besides
      -A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
      -A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
      # the dump again
      -A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
    EOT
  }
}

expect "the node port" {
  proves = ["articles.259", "articles.275"]
  from   = client.laptop
  to     = "${node.node0.ip}:30180"
  answer = values(pod.nginx)
  source = node.node0
}

expect "the way to the cluster IP" {
  proves = ["articles.269", "articles.270"]
  from   = pod.shell
  to     = service.nginx
  answer = values(pod.nginx)
  source = pod.shell.ip
  spread { tolerance = 0.5 }
  dynamic "rules" {
    for_each = {
      PREROUTING                = "-j KUBE-SERVICES"
      KUBE-SERVICES             = "-j KUBE-SVC-4N57TFCL4MD7ZTDA"
      KUBE-SVC-4N57TFCL4MD7ZTDA = "-A KUBE-SVC-4N57TFCL4MD7ZTDA"
    }
    content {
      on      = node.node0
      table   = "nat"
      chain   = rules.key
      has     = rules.value
      counted = 1
    }
  }
  rules {
    on      = node.node0
    table   = "nat"
    has     = "-j DNAT"
    counted = 1
  }
}

expect "the way to the node port" {
  proves = ["articles.272", "articles.273", "articles.274", "articles.275"]
  from   = client.laptop
  to     = "${node.node0.ip}:30180"
  answer = values(pod.nginx)
  dynamic "rules" {
    for_each = {
      KUBE-SERVICES    = "--dst-type LOCAL -j KUBE-NODEPORTS"
      KUBE-MARK-MASQ   = "-j MARK"
      KUBE-NODEPORTS   = "-j KUBE-SVC-4N57TFCL4MD7ZTDA"
      KUBE-POSTROUTING = "--mark 0x4000/0x4000 -j MASQUERADE"
    }
    content {
      on      = node.node0
      table   = "nat"
      chain   = rules.key
      has     = rules.value
      counted = 1
    }
  }
  rules {
    on      = node.node0
    table   = "filter"
    chain   = "KUBE-FORWARD"
    has     = "--mark 0x4000/0x4000 -j ACCEPT"
    counted = "some"
  }
}
