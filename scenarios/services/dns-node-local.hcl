# What you will see: a name server on every node, as with the addon NodeLocal DNSCache. Pods ask
# 169.254.20.10, which is their own node, so that no rule of a service chooses a name server, no
# connection is tracked, and no policy is in the way: what a pod sends to its own node is always
# allowed. The name servers of the cluster are still there, behind their service.
#
#   shell  ──▶ 169.254.20.10:53 ──raw: CT --notrack──▶ node-local-dns-node1     no entry, no lots
#   shell  ──▶ 10.96.0.10:53 ──KUBE-SVC-… ──▶ coredns-0 or coredns-1            an entry for each query
#
# What to try: netlab up on this file; netlab exec shell -- dig web; netlab exec node1 -- iptables -t
# raw -S; take node_local away and netlab up again, and ask from locked.
#
# The proof: "the node answers", "and tracks nothing" and "a policy that forgets port 53".

dns { node_local = "169.254.20.10" }

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" { node = node.node1 }

pod "locked" {
  node   = node.node1
  labels = { app = "locked" }
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

policy "to-web-only" {
  pod_selector = { app = "locked" }
  policy_types = ["Egress"]
  egress {
    to { pod_selector = { app = "web" } }
  }
}

expect "names lead to services" {
  from   = pod.shell
  to     = "web:80"
  answer = pod.web
}

expect "what nobody has does not exist" {
  from    = pod.shell
  to      = "www.example.com:443"
  outcome = "dns"
}

expect "the node answers" {
  from     = pod.shell
  to       = "169.254.20.10:53"
  protocol = "udp"
  answer   = "node-local-dns-node1"
  source   = pod.shell.ip
}

expect "and tracks nothing" {
  proves   = ["articles.64", "articles.250"]
  from     = pod.shell
  to       = "169.254.20.10:53"
  protocol = "udp"
  tracked {
    on          = node.node1
    destination = "169.254.20.10:53"
    absent      = true
  }
  rules {
    on      = node.node1
    table   = "raw"
    chain   = "PREROUTING"
    has     = "-p udp -m udp --dport 53"
    counted = 1
  }
}

expect "the service tracks each query" {
  from     = pod.shell
  to       = "kube-dns.kube-system:53"
  protocol = "udp"
  answer   = ["kube-system/coredns-0", "kube-system/coredns-1"]
}

expect "a policy that forgets port 53" {
  from   = pod.locked
  to     = "web:80"
  answer = pod.web
}

expect "it would miss the cluster's name servers" {
  from     = pod.locked
  to       = "kube-dns.kube-system:53"
  protocol = "udp"
  outcome  = "timeout"
}

expect "a pod's resolver" {
  run {
    on      = pod.shell
    command = ["dig", "+short", "web.default.svc.cluster.local"]
    output  = service.web.cluster_ip
  }
  run {
    on      = pod.shell
    command = ["grep", "nameserver", "/etc/resolv.conf"]
    output  = "nameserver 169.254.20.10"
  }
}
