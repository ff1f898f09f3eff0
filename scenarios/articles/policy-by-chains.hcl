# What you will see: a policy as its first plugins wrote it, on the nodes alone. It selects the
# database. In comes, at port 6379, what is in a block but not in the hole of it, what is in a
# namespace with a label, and what has a label itself; out goes what is for a block and port 5978.
# KUBE-NWPLCY-CHAIN has a rule of ACCEPT for each pair that may connect; FORWARD leads there what is
# for the pod, by one rule for packets that the bridge passes on, and by another for those that
# were routed; and the pod's chain rejects the rest, but for what belongs to a connection.
#
#   front (node1)  ── bridged ──▶ FORWARD ──▶ KUBE-POD-SPECIFIC-FW-CHAIN ──▶ KUBE-NWPLCY-CHAIN ──▶ db
#   partner (node2) ── routed ──▶ FORWARD ──▶ KUBE-POD-SPECIFIC-FW-CHAIN ──▶ KUBE-NWPLCY-CHAIN ──▶ db
#   other, far                                                    └──▶ REJECT
#
# What to try: netlab rules node1 --table filter --counters; netlab up, give another pod the label of
# the front end, and netlab up again: a rule more; netlab explain other db:6379.
#
# The proof: "three ways in", "the hole of the block", "to one port", "out to one block and port",
# "a rule for each pair" and "bridged or routed".

network { mode = "host-gw" }

policies {
  style = "legacy"
  deny  = "reject"
}

node "node1" {}
node "node2" {}

namespace "partners" {
  labels = { project = "partners" }
}

client "inside" {
  address = "192.168.0.200"
  routes  = [{ to = node.node1.pod_cidr, via = node.node1.ip }]
}

client "hole" {
  address = "192.168.0.241"
  routes  = [{ to = node.node1.pod_cidr, via = node.node1.ip }]
}

pod "db" {
  node   = node.node1
  labels = { role = "db" }
  port "redis" { port = 6379 }
  port "admin" { port = 6380 }
}

pod "front" {
  node   = node.node1
  labels = { role = "frontend" }
}

pod "other" { node = node.node1 }
pod "far" { node = node.node2 }

pod "partner" {
  namespace = namespace.partners
  node      = node.node2
}

pod "backup" {
  node = node.node2
  port "backup" { port = 5978 }
  port "http" { port = 80 }
}

pod "near-backup" {
  node = node.node1
  port "backup" { port = 5978 }
}

policy "db" {
  pod_selector = { role = "db" }
  policy_types = ["Ingress", "Egress"]
  ingress {
    from {
      ip_block {
        cidr   = "192.168.0.128/25"
        except = ["192.168.0.240/28"]
      }
    }
    from { namespace_selector = { project = "partners" } }
    from { pod_selector = { role = "frontend" } }
    port { port = 6379 }
  }
  egress {
    to {
      ip_block { cidr = "10.244.2.0/24" }
    }
    port { port = 5978 }
  }
}

locals {
  chain = "KUBE-POD-SPECIFIC-FW-CHAIN"
  to_db = "-A FORWARD -d ${pod.db.ip}/32"
}

expect "three ways in" {
  proves = ["articles.167"]
  from   = [client.inside, pod.partner, pod.front]
  to     = pod.db
  port   = "redis"
  answer = pod.db
  source = each.from.ip
}

expect "the hole of the block" {
  proves  = ["articles.167", "articles.168"]
  from    = client.hole
  to      = pod.db
  port    = "redis"
  outcome = "refused"
}

expect "nobody else" {
  proves  = ["articles.167", "articles.174", "articles.175"]
  from    = [pod.other, pod.far]
  to      = pod.db
  port    = "redis"
  outcome = "refused"
}

expect "to one port" {
  proves  = ["articles.167"]
  from    = [client.inside, pod.partner, pod.front]
  to      = pod.db
  port    = "admin"
  outcome = "refused"
}

expect "out to one block and port" {
  proves = ["articles.169"]
  from   = pod.db
  to     = pod.backup
  port   = "backup"
  answer = pod.backup
}

expect "to no other port, and no other block" {
  proves  = ["articles.169"]
  from    = pod.db
  to      = ["${pod.backup.ip}:80", "${pod.near-backup.ip}:5978"]
  outcome = "refused"
}

expect "who may connect to both" {
  proves = ["articles.169"]
  from   = pod.other
  to     = ["${pod.backup.ip}:80", "${pod.near-backup.ip}:5978"]
}

expect "a rule for each pair" {
  proves = ["articles.166", "articles.170"]
  rules {
    on     = node.node1
    chain  = "KUBE-NWPLCY-CHAIN"
    equals = <<-EOT
      # a pod may always talk to itself
      -A KUBE-NWPLCY-CHAIN -s ${pod.db.ip}/32 -d ${pod.db.ip}/32 -j ACCEPT
      # labels
      -A KUBE-NWPLCY-CHAIN -s ${pod.front.ip}/32 -d ${pod.db.ip}/32 -p tcp -m tcp --dport 6379 -j ACCEPT
      -A KUBE-NWPLCY-CHAIN -s ${pod.partner.ip}/32 -d ${pod.db.ip}/32 -p tcp -m tcp --dport 6379 -j ACCEPT
      # the block without its hole
      -A KUBE-NWPLCY-CHAIN -s 192.168.0.128/26 -d ${pod.db.ip}/32 -p tcp -m tcp --dport 6379 -j ACCEPT
      -A KUBE-NWPLCY-CHAIN -s 192.168.0.192/27 -d ${pod.db.ip}/32 -p tcp -m tcp --dport 6379 -j ACCEPT
      -A KUBE-NWPLCY-CHAIN -s 192.168.0.224/28 -d ${pod.db.ip}/32 -p tcp -m tcp --dport 6379 -j ACCEPT
      # the way out
      -A KUBE-NWPLCY-CHAIN -s ${pod.db.ip}/32 -d 10.244.2.0/24 -p tcp -m tcp --dport 5978 -j ACCEPT
    EOT
  }
  rules { # the other node has none of these pods
    on     = node.node2
    chain  = "KUBE-NWPLCY-CHAIN"
    absent = true
  }
}

expect "the chain of the pod" {
  proves = ["articles.171", "articles.172", "articles.173", "articles.174"]
  dynamic "rules" {
    for_each = ["${local.to_db} -m physdev --physdev-is-bridged -j ${local.chain}", "${local.to_db} -j ${local.chain}"]
    content {
      on    = node.node1
      table = "filter"
      chain = "FORWARD"
      has   = rules.value
      count = 1
    }
  }
  rules {
    on     = node.node1
    chain  = local.chain
    equals = <<-EOT
      -A ${local.chain} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
      -A ${local.chain} -j KUBE-NWPLCY-CHAIN
      -A ${local.chain} -p tcp -m tcp -m conntrack ! --ctstate DNAT -j REJECT --reject-with tcp-reset
      -A ${local.chain} -j REJECT --reject-with icmp-port-unreachable
    EOT
  }
}

expect "replies get in by the rule for connections" {
  proves = ["articles.174"]
  from   = pod.db
  to     = pod.backup
  port   = "backup"
  rules {
    on      = node.node1
    chain   = local.chain
    has     = "--ctstate RELATED,ESTABLISHED -j ACCEPT"
    counted = "some"
  }
}

expect "bridged or routed" {
  for_each = {
    front   = { pod = pod.front, bridged = "some", routed = 0 }
    partner = { pod = pod.partner, bridged = 0, routed = "some" }
  }
  proves = ["articles.171", "articles.172", "articles.180"]
  from   = each.value.pod
  to     = pod.db
  port   = "redis"
  rules {
    on      = node.node1
    table   = "filter"
    chain   = "FORWARD"
    has     = "${local.to_db} -m physdev --physdev-is-bridged"
    counted = each.value.bridged
  }
  rules {
    on      = node.node1
    table   = "filter"
    chain   = "FORWARD"
    has     = "${local.to_db} -j"
    counted = each.value.routed
  }
}

expect "no service, no rules for one" {
  proves = ["articles.211"]
  rules {
    on    = node.node1
    table = "nat"
    chain = "KUBE-SERVICES"
    count = 1 # for node ports
  }
  rules {
    on    = node.node1
    tool  = "iptables"
    table = "nat"
    lacks = "-j DNAT"
  }
}
