# What you will see: the example of the Kubernetes manual, a policy with all that a policy can say,
# and the rules that articles explain it by: one ACCEPT per source, destination, protocol and port in
# KUBE-NWPLCY-CHAIN, and two rules of FORWARD that send a pod's packets there. The first is for
# packets that cross a bridge, between pods of one node, the second for those that are routed.
#
#   frontend (node1) ── cni0, physdev ──┐
#                                       ├──▶ KUBE-POD-SPECIFIC-FW-CHAIN ──▶ KUBE-NWPLCY-CHAIN ──▶ db:6379
#   tenant   (node0) ── routed ─────────┘                              └──▶ REJECT
#
# What to try: netlab rules -f on this file node1 --table filter; netlab reach on this file; style =
# "kube-router" or "calico", where only the claims about rules fail.
#
# The proof: "whom it lets in", "and nobody else", "one way out", and the rules.

network {
  mode      = "host-gw"
  node_cidr = "172.17.0.0/16"
  pod_cidr  = "10.0.0.0/16"
}

policies {
  style = "legacy"
  deny  = "reject"
}

node "node0" {}
node "node1" {}
node "node2" {}

namespace "myproject" { labels = { project = "myproject" } }

client "in-the-block" {
  address = "172.17.2.9"
  routes  = [{ to = node.node1.pod_cidr, via = node.node1.ip }]
}

client "left-out" {
  address = "172.17.1.9"
  routes  = [{ to = node.node1.pod_cidr, via = node.node1.ip }]
}

pod "db" {
  node    = node.node1
  address = "10.0.1.10"
  labels  = { role = "db" }
  port "redis" { port = 6379 }
  port "admin" { port = 6380 }
}

pod "frontend" {
  node    = node.node1
  address = "10.0.1.20"
  labels  = { role = "frontend" }
  port "log" { port = 5978 }
}

pod "tenant" {
  namespace = namespace.myproject
  node      = node.node0
  address   = "10.0.0.30"
  port "log" { port = 5978 }
  port "other" { port = 5979 }
}

pod "stranger" {
  node = node.node2
  port "log" { port = 5978 }
}

pod "near" { node = node.node1 }

policy "test-network-policy" {
  pod_selector = { role = "db" }
  policy_types = ["Ingress", "Egress"]
  ingress {
    from {
      ip_block {
        cidr   = "172.17.0.0/16"
        except = ["172.17.1.0/24"]
      }
    }
    from { namespace_selector = { project = "myproject" } }
    from { pod_selector = { role = "frontend" } }
    port { port = 6379 }
  }
  egress {
    to {
      ip_block { cidr = "10.0.0.0/24" }
    }
    port { port = 5978 }
  }
}

expect "whom it lets in" {
  proves = ["articles.167", "articles.168"]
  from   = [client.in-the-block, pod.tenant, pod.frontend]
  to     = pod.db
  port   = "redis"
  source = each.from.ip
}

expect "and nobody else" {
  proves  = ["articles.167", "articles.168", "articles.174", "articles.175"]
  from    = [client.left-out, pod.stranger, pod.near]
  to      = pod.db
  port    = "redis"
  outcome = "refused"
}

expect "to one port" {
  proves  = ["articles.167"]
  from    = [client.in-the-block, pod.tenant, pod.frontend]
  to      = pod.db
  port    = "admin"
  outcome = "refused"
}

expect "which its own node can see is there" {
  from = node.node1
  to   = pod.db
  port = "admin"
}

expect "one way out" {
  proves = ["articles.169"]
  from   = pod.db
  to     = pod.tenant
  port   = "log"
}

expect "and no other" {
  proves  = ["articles.169"]
  from    = pod.db
  to      = ["${pod.tenant.ip}:5979", "${pod.stranger.ip}:5978", "${pod.frontend.ip}:5978"]
  outcome = "refused"
}

expect "which are there for others" {
  from = pod.near
  to   = ["${pod.tenant.ip}:5979", "${pod.stranger.ip}:5978", "${pod.frontend.ip}:5978"]
}

expect "one ACCEPT for each" {
  proves = ["articles.166", "articles.170"]
  rules {
    on    = node.node1
    table = "filter"
    chain = "KUBE-NWPLCY-CHAIN"
    has = [
      "-s 10.0.1.20/32 -d 10.0.1.10/32 -p tcp -m tcp --dport 6379 -j ACCEPT",
      "-s 10.0.0.30/32 -d 10.0.1.10/32 -p tcp -m tcp --dport 6379 -j ACCEPT",
      "-s 10.0.1.10/32 -d 10.0.0.0/24 -p tcp -m tcp --dport 5978 -j ACCEPT",
    ]
  }
  rules {
    on    = node.node1
    chain = "KUBE-NWPLCY-CHAIN"
    lacks = "-s 172.17.0.0/16" # the block without its hole, in eight pieces
  }
}

expect "the chain of the pod" {
  proves = ["articles.173", "articles.174"]
  rules {
    on     = node.node1
    chain  = "KUBE-POD-SPECIFIC-FW-CHAIN"
    equals = <<-EOT
      -A KUBE-POD-SPECIFIC-FW-CHAIN -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
      -A KUBE-POD-SPECIFIC-FW-CHAIN -j KUBE-NWPLCY-CHAIN
      -A KUBE-POD-SPECIFIC-FW-CHAIN -p tcp -m tcp -m conntrack ! --ctstate DNAT -j REJECT --reject-with tcp-reset
      -A KUBE-POD-SPECIFIC-FW-CHAIN -j REJECT --reject-with icmp-port-unreachable
    EOT
  }
}

expect "between pods of one node: the rule for bridges" {
  proves = ["articles.171", "articles.180"]
  from   = pod.frontend
  to     = pod.db
  port   = "redis"
  rules {
    on      = node.node1
    chain   = "FORWARD"
    has     = "-d 10.0.1.10/32 -m physdev --physdev-is-bridged -j KUBE-POD-SPECIFIC-FW-CHAIN"
    counted = "some"
  }
  rules {
    on      = node.node1
    chain   = "FORWARD"
    has     = "-d 10.0.1.10/32 -j KUBE-POD-SPECIFIC-FW-CHAIN"
    counted = 0
  }
}

expect "from other nodes: the rule for the rest" {
  proves = ["articles.172", "articles.180"]
  from   = pod.tenant
  to     = pod.db
  port   = "redis"
  rules {
    on      = node.node1
    chain   = "FORWARD"
    has     = "-d 10.0.1.10/32 -m physdev --physdev-is-bridged -j KUBE-POD-SPECIFIC-FW-CHAIN"
    counted = 0
  }
  rules {
    on      = node.node1
    chain   = "FORWARD"
    has     = "-d 10.0.1.10/32 -j KUBE-POD-SPECIFIC-FW-CHAIN"
    counted = "some"
  }
}
