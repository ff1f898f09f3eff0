# What you will see: the same names in both IP families, with another domain, another address
# of the name service and a single name server.
#
#   shell ──▶ 10.96.0.53:53 ──▶ coredns-0 ──▶ A and AAAA of web.default.svc.corp.internal
#
# What to try: netlab test --matrix proxy=iptables,nftables,userspace on this file: names are
# looked up through the service, whatever forwards its connections.
#
# The proof: "names end in the domain of the cluster" and "the usual domain means nothing".

network {
  pod_cidr     = ["10.244.0.0/16", "fd00:244::/56"]
  service_cidr = ["10.96.0.0/16", "fd00:96::/112"]
  node_cidr    = ["192.168.0.0/24", "fd00:192::/64"]
}

dns {
  cluster_domain = "corp.internal"
  cluster_ip     = "10.96.0.53"
  replicas       = 1
}

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  selector         = { app = "web" }
  ip_family_policy = "PreferDualStack"
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "web6" {
  selector    = { app = "web" }
  ip_families = ["IPv6"]
  port "http" {
    port        = 80
    target_port = "http"
  }
}

pod "shell" {
  node = node.node1
}

expect "names end in the domain of the cluster" {
  from   = pod.shell
  to     = ["web:80", "web.default.svc.corp.internal:80", "${service.web.fqdn}:80"]
  answer = pod.web
}

expect "a service of IPv6 alone has no other address" {
  from   = pod.shell
  to     = "web6:80"
  answer = pod.web
}

expect "the usual domain means nothing" {
  from    = pod.shell
  to      = "web.default.svc.cluster.local:80"
  outcome = "dns"
}

expect "the name service answers at its address, over both protocols" {
  for_each = toset(["udp", "tcp"])
  from     = pod.shell
  to       = "10.96.0.53:53"
  protocol = each.key
  answer   = "kube-system/coredns-0"
}
