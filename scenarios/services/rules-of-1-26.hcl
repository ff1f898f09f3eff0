# What you will see: the table nat of a node of Kubernetes 1.26, line by line: 65 rules of
# kube-proxy, the kubelet, Docker, flannel and Calico, in the order in which iptables-save prints
# them, each with the hashes that a cluster with the same objects has. Calico inserts its own at
# the head of the built-in chains, kube-proxy before what is there already. kube-proxy marks what does not come from a
# pod in the chain of the service, and says in a comment which endpoint a rule is for; flannel
# has its four rules in POSTROUTING itself, as until version 0.19; Calico has its chains beside
# them, and knows its rules by a hash. Docker's four are there because Docker is on the node; they
# say nothing of pods, which are not on its bridge.
#
#   client ──▶ KUBE-SERVICES ──▶ KUBE-SVC-WWRFY3PZ7W3FGMQW ──1/3──▶ KUBE-SEP-BEMSLTMJA26ZCLYL
#                                                           └─▶ …
#
# What to try: netlab up on this file, then netlab exec node0 -- iptables-save -t nat; change
# a name, a port or an address, and see which claims fail.
#
# The proof: "line by line" and "it works, too".

network {
  mode           = "canal"
  pod_cidr       = "192.168.0.0/16"
  service_cidr   = "10.96.0.0/12"
  node_cidr      = "172.30.1.0/24"
  flannel_layout = "0.19"
  docker         = true
}

proxy {
  mode = "iptables"
  iptables { layout = "1.26" }
}

namespace "kube-system" {}

node "node0" { address = "172.30.1.2" }
node "node1" {}

pod "nginx" {
  for_each = { a = "192.168.0.7", b = "192.168.1.3", c = "192.168.1.4" }
  address  = each.value
  node     = "node${split(".", each.value)[2]}"
  labels   = { app = "nginx" }
  port "http" { port = 80 }
}

pod "coredns" {
  for_each  = { a = "192.168.0.6", b = "192.168.1.2" }
  namespace = "kube-system"
  address   = each.value
  node      = "node${split(".", each.value)[2]}"
  labels    = { k8s-app = "kube-dns" }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
  port "dns-tcp" { port = 53 }
  port "metrics" { port = 9153 }
}

pod "apiserver" {
  namespace    = "kube-system"
  node         = node.node0
  host_network = true
  port "https" { port = 6443 }
}

service "nginx-basic" {
  cluster_ip = "10.105.250.129"
  selector   = { app = "nginx" }
  port "http" { port = 80 }
}

service "kube-dns" {
  namespace  = "kube-system"
  cluster_ip = "10.96.0.10"
  selector   = { k8s-app = "kube-dns" }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
  port "dns-tcp" { port = 53 }
  port "metrics" { port = 9153 }
}

service "kubernetes" {
  cluster_ip = "10.96.0.1"
  port "https" {
    port        = 443
    target_port = 6443
  }
  endpoint { address = node.node0.ip }
}

# The whole table in its order, with nothing else in it. The order of services in KUBE-SERVICES alone
# means nothing: this kube-proxy takes them as they come out of a Go map, in another order each
# time; here they are by name.
expect "line by line" {
  proves = ["articles.69", "articles.70", "articles.227", "articles.228", "articles.229", "articles.230", "articles.232", "articles.233", "articles.234", "articles.235", "articles.236", "articles.238", "articles.239", "articles.240", "articles.244", "articles.245"]
  rules {
    on     = node.node0
    tool   = "iptables"
    table  = "nat"
    equals = <<-EOT
      -A PREROUTING -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING
      -A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
      -A OUTPUT -m comment --comment "cali:tVnHkvAo15HuiPy0" -j cali-OUTPUT
      -A OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      -A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER
      -A POSTROUTING -m comment --comment "cali:O3lYWMrLQYEMJtB5" -j cali-POSTROUTING
      -A POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
      -A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
      -A POSTROUTING -s 192.168.0.0/16 -d 192.168.0.0/16 -j RETURN
      -A POSTROUTING -s 192.168.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully
      -A POSTROUTING ! -s 192.168.0.0/16 -d 192.168.0.0/24 -j RETURN
      -A POSTROUTING ! -s 192.168.0.0/16 -d 192.168.0.0/16 -j MASQUERADE --random-fully
      -A DOCKER -i docker0 -j RETURN
      -A KUBE-MARK-DROP -j MARK --set-xmark 0x8000/0x8000
      -A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000
      -A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
      -A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
      -A KUBE-POSTROUTING -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE --random-fully
      -A KUBE-SEP-ABG426TTTCGMOND7 -s 192.168.1.2/32 -m comment --comment "kube-system/kube-dns:dns-tcp" -j KUBE-MARK-MASQ
      -A KUBE-SEP-ABG426TTTCGMOND7 -p tcp -m comment --comment "kube-system/kube-dns:dns-tcp" -m tcp -j DNAT --to-destination 192.168.1.2:53
      -A KUBE-SEP-BEMSLTMJA26ZCLYL -s 192.168.0.7/32 -m comment --comment "default/nginx-basic:http" -j KUBE-MARK-MASQ
      -A KUBE-SEP-BEMSLTMJA26ZCLYL -p tcp -m comment --comment "default/nginx-basic:http" -m tcp -j DNAT --to-destination 192.168.0.7:80
      -A KUBE-SEP-D23ODROEH5R4FSGE -s 172.30.1.2/32 -m comment --comment "default/kubernetes:https" -j KUBE-MARK-MASQ
      -A KUBE-SEP-D23ODROEH5R4FSGE -p tcp -m comment --comment "default/kubernetes:https" -m tcp -j DNAT --to-destination 172.30.1.2:6443
      -A KUBE-SEP-G44RJ25JKAEOKO42 -s 192.168.0.6/32 -m comment --comment "kube-system/kube-dns:dns-tcp" -j KUBE-MARK-MASQ
      -A KUBE-SEP-G44RJ25JKAEOKO42 -p tcp -m comment --comment "kube-system/kube-dns:dns-tcp" -m tcp -j DNAT --to-destination 192.168.0.6:53
      -A KUBE-SEP-GHNVWKROTCCBFQKZ -s 192.168.1.2/32 -m comment --comment "kube-system/kube-dns:dns" -j KUBE-MARK-MASQ
      -A KUBE-SEP-GHNVWKROTCCBFQKZ -p udp -m comment --comment "kube-system/kube-dns:dns" -m udp -j DNAT --to-destination 192.168.1.2:53
      -A KUBE-SEP-NGZXZA7GIJDM26Z3 -s 192.168.0.6/32 -m comment --comment "kube-system/kube-dns:dns" -j KUBE-MARK-MASQ
      -A KUBE-SEP-NGZXZA7GIJDM26Z3 -p udp -m comment --comment "kube-system/kube-dns:dns" -m udp -j DNAT --to-destination 192.168.0.6:53
      -A KUBE-SEP-NH2YM7NDCNPLOCTP -s 192.168.0.6/32 -m comment --comment "kube-system/kube-dns:metrics" -j KUBE-MARK-MASQ
      -A KUBE-SEP-NH2YM7NDCNPLOCTP -p tcp -m comment --comment "kube-system/kube-dns:metrics" -m tcp -j DNAT --to-destination 192.168.0.6:9153
      -A KUBE-SEP-UF65ZV4QBOPNRP6O -s 192.168.1.3/32 -m comment --comment "default/nginx-basic:http" -j KUBE-MARK-MASQ
      -A KUBE-SEP-UF65ZV4QBOPNRP6O -p tcp -m comment --comment "default/nginx-basic:http" -m tcp -j DNAT --to-destination 192.168.1.3:80
      -A KUBE-SEP-UG4OSZR4VSWZ27C5 -s 192.168.1.2/32 -m comment --comment "kube-system/kube-dns:metrics" -j KUBE-MARK-MASQ
      -A KUBE-SEP-UG4OSZR4VSWZ27C5 -p tcp -m comment --comment "kube-system/kube-dns:metrics" -m tcp -j DNAT --to-destination 192.168.1.2:9153
      -A KUBE-SEP-WQR67ZLSTPDXXME4 -s 192.168.1.4/32 -m comment --comment "default/nginx-basic:http" -j KUBE-MARK-MASQ
      -A KUBE-SEP-WQR67ZLSTPDXXME4 -p tcp -m comment --comment "default/nginx-basic:http" -m tcp -j DNAT --to-destination 192.168.1.4:80
      -A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-SVC-NPX46M4PTMTKRN6Y
      -A KUBE-SERVICES -d 10.105.250.129/32 -p tcp -m comment --comment "default/nginx-basic:http cluster IP" -m tcp --dport 80 -j KUBE-SVC-WWRFY3PZ7W3FGMQW
      -A KUBE-SERVICES -d 10.96.0.10/32 -p udp -m comment --comment "kube-system/kube-dns:dns cluster IP" -m udp --dport 53 -j KUBE-SVC-TCOU7JCQXEZGVUNU
      -A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "kube-system/kube-dns:dns-tcp cluster IP" -m tcp --dport 53 -j KUBE-SVC-ERIFXISQEP7F7OF4
      -A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "kube-system/kube-dns:metrics cluster IP" -m tcp --dport 9153 -j KUBE-SVC-JD5MR3NA4I4DYORP
      -A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
      -A KUBE-SVC-ERIFXISQEP7F7OF4 ! -s 192.168.0.0/16 -d 10.96.0.10/32 -p tcp -m comment --comment "kube-system/kube-dns:dns-tcp cluster IP" -m tcp --dport 53 -j KUBE-MARK-MASQ
      -A KUBE-SVC-ERIFXISQEP7F7OF4 -m comment --comment "kube-system/kube-dns:dns-tcp -> 192.168.0.6:53" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-G44RJ25JKAEOKO42
      -A KUBE-SVC-ERIFXISQEP7F7OF4 -m comment --comment "kube-system/kube-dns:dns-tcp -> 192.168.1.2:53" -j KUBE-SEP-ABG426TTTCGMOND7
      -A KUBE-SVC-JD5MR3NA4I4DYORP ! -s 192.168.0.0/16 -d 10.96.0.10/32 -p tcp -m comment --comment "kube-system/kube-dns:metrics cluster IP" -m tcp --dport 9153 -j KUBE-MARK-MASQ
      -A KUBE-SVC-JD5MR3NA4I4DYORP -m comment --comment "kube-system/kube-dns:metrics -> 192.168.0.6:9153" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-NH2YM7NDCNPLOCTP
      -A KUBE-SVC-JD5MR3NA4I4DYORP -m comment --comment "kube-system/kube-dns:metrics -> 192.168.1.2:9153" -j KUBE-SEP-UG4OSZR4VSWZ27C5
      -A KUBE-SVC-NPX46M4PTMTKRN6Y ! -s 192.168.0.0/16 -d 10.96.0.1/32 -p tcp -m comment --comment "default/kubernetes:https cluster IP" -m tcp --dport 443 -j KUBE-MARK-MASQ
      -A KUBE-SVC-NPX46M4PTMTKRN6Y -m comment --comment "default/kubernetes:https -> 172.30.1.2:6443" -j KUBE-SEP-D23ODROEH5R4FSGE
      -A KUBE-SVC-TCOU7JCQXEZGVUNU ! -s 192.168.0.0/16 -d 10.96.0.10/32 -p udp -m comment --comment "kube-system/kube-dns:dns cluster IP" -m udp --dport 53 -j KUBE-MARK-MASQ
      -A KUBE-SVC-TCOU7JCQXEZGVUNU -m comment --comment "kube-system/kube-dns:dns -> 192.168.0.6:53" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-NGZXZA7GIJDM26Z3
      -A KUBE-SVC-TCOU7JCQXEZGVUNU -m comment --comment "kube-system/kube-dns:dns -> 192.168.1.2:53" -j KUBE-SEP-GHNVWKROTCCBFQKZ
      -A KUBE-SVC-WWRFY3PZ7W3FGMQW ! -s 192.168.0.0/16 -d 10.105.250.129/32 -p tcp -m comment --comment "default/nginx-basic:http cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
      -A KUBE-SVC-WWRFY3PZ7W3FGMQW -m comment --comment "default/nginx-basic:http -> 192.168.0.7:80" -m statistic --mode random --probability 0.33333333349 -j KUBE-SEP-BEMSLTMJA26ZCLYL
      -A KUBE-SVC-WWRFY3PZ7W3FGMQW -m comment --comment "default/nginx-basic:http -> 192.168.1.3:80" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-UF65ZV4QBOPNRP6O
      -A KUBE-SVC-WWRFY3PZ7W3FGMQW -m comment --comment "default/nginx-basic:http -> 192.168.1.4:80" -j KUBE-SEP-WQR67ZLSTPDXXME4
      -A cali-OUTPUT -m comment --comment "cali:GBTAv2p5CwevEyJm" -j cali-fip-dnat
      -A cali-POSTROUTING -m comment --comment "cali:Z-c7XtVd2Bq7s_hA" -j cali-fip-snat
      -A cali-POSTROUTING -m comment --comment "cali:nYKhEzDlr11Jccal" -j cali-nat-outgoing
      -A cali-PREROUTING -m comment --comment "cali:r6XmIziWUJsdOK6Z" -j cali-fip-dnat
      -A cali-nat-outgoing -m comment --comment "cali:flqWnvo8yq4ULQLa" -m set --match-set cali40masq-ipam-pools src -m set ! --match-set cali40all-ipam-pools dst -j MASQUERADE --random-fully
    EOT
  }
}

expect "the kubelet's chain is empty" {
  proves = ["articles.231"]
  rules {
    on    = node.node0
    table = "nat"
    chain = "KUBE-KUBELET-CANARY"
    count = 0
  }
}

expect "it works, too" {
  proves = ["articles.226"]
  from   = pod.coredns["a"]
  to     = service.nginx-basic
  answer = values(pod.nginx)
  source = pod.coredns["a"].ip
}

expect "Docker's bridge has nobody on it" {
  rules {
    on    = node.node0
    table = "nat"
    chain = "DOCKER"
    count = 1
  }
  run {
    on      = node.node0
    command = ["ip", "-br", "link", "show", "master", "docker0"]
    output  = ""
  }
}
