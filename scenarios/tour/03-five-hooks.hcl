# What you will see: where a packet meets the rules of a node. The kernel has five hooks. What
# is for the node itself passes PREROUTING and INPUT, what goes through it PREROUTING,
# FORWARD and POSTROUTING, what it sends itself OUTPUT and POSTROUTING. The claims count one
# datagram and its answer in the filter table, which sees each of them.
#
#                ┌─▶ INPUT ──▶ process ──▶ OUTPUT ─┐
#   PREROUTING ──┤                                 ├──▶ POSTROUTING
#                └──────────▶ FORWARD ─────────────┘
#
# Two pods of one node have a bridge between them and no router, and still their packets
# meet FORWARD: br_netfilter shows bridged packets to iptables, or a service's address would
# not be undone between neighbours.
#
# What to try: netlab up on this file; netlab rules node1 --table filter --counters, before and
# after netlab exec laptop -- ping -c 1 node1; netlab explain laptop web.
#
# The proof: "to the node", "through the node", "from the node" and "across a bridge".

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

client "laptop" {
  routes = [{ to = node.node1.pod_cidr, via = node.node1.ip }]
}

pod "web" {
  node = node.node1
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "neighbour" { node = node.node1 }

pod "of-the-node" {
  node         = node.node1
  host_network = true
  port "echo" {
    port     = 7008
    protocol = "udp"
  }
}

pod "elsewhere" {
  node = node.node2
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

locals {
  # The rules of the filter table through which every packet of a hook goes.
  all = { INPUT = "-j KUBE-FIREWALL", FORWARD = "-j KUBE-FORWARD", OUTPUT = "-j KUBE-FIREWALL" }
}

expect "to the node" {
  proves   = ["articles.55", "articles.120", "articles.252"]
  from     = client.laptop
  to       = "${node.node1.ip}:7008"
  protocol = "udp"
  dynamic "rules" {
    for_each = { INPUT = 1, FORWARD = 0, OUTPUT = 1 }
    content {
      on      = node.node1
      table   = "filter"
      chain   = rules.key
      has     = local.all[rules.key]
      counted = rules.value
    }
  }
}

expect "through the node" {
  proves   = ["articles.56", "articles.120", "articles.215", "articles.252"]
  from     = client.laptop
  to       = "${pod.web.ip}:7007"
  protocol = "udp"
  dynamic "rules" {
    for_each = { INPUT = 0, FORWARD = 2, OUTPUT = 0 }
    content {
      on      = node.node1
      table   = "filter"
      chain   = rules.key
      has     = local.all[rules.key]
      counted = rules.value
    }
  }
}

expect "from the node" {
  proves   = ["articles.57", "articles.252"]
  from     = node.node1
  to       = "${pod.elsewhere.ip}:7007"
  protocol = "udp"
  dynamic "rules" {
    for_each = { INPUT = 1, FORWARD = 0, OUTPUT = 1 }
    content {
      on      = node.node1
      table   = "filter"
      chain   = rules.key
      has     = local.all[rules.key]
      counted = rules.value
    }
  }
}

expect "across a bridge" {
  proves   = ["articles.178"]
  from     = pod.neighbour
  to       = "${pod.web.ip}:7007"
  protocol = "udp"
  dynamic "rules" {
    for_each = { INPUT = 0, FORWARD = 2, OUTPUT = 0 }
    content {
      on      = node.node1
      table   = "filter"
      chain   = rules.key
      has     = local.all[rules.key]
      counted = rules.value
    }
  }
}
