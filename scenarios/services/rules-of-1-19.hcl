# What you will see: a node port on Kubernetes 1.19, line by line. KUBE-SERVICES marks for
# masquerading what does not come from a pod, and ends in KUBE-NODEPORTS, which marks everything.
# Both lead to one chain, KUBE-SVC-2IRACUALRELARSND, whose name no longer has the colon of older
# versions in its hash, and from there to a chain for each endpoint.
#
#   laptop ──▶ node120:31380 ──▶ KUBE-NODEPORTS ──▶ KUBE-SVC-2IRACUALRELARSND ──▶ KUBE-SEP-…
#   shell  ──▶ 10.103.46.104:80 ──▶ KUBE-SERVICES ──▶ KUBE-SVC-2IRACUALRELARSND ──▶ KUBE-SEP-…
#
# What to try: netlab explain laptop node121:31380, on this file; rules-of-1-19-local.hcl is the same
# with external traffic policy Local.
#
# The proof: "the chains" and "every node answers".

proxy {
  mode = "iptables"
  iptables { layout = "1.19" }
}

network {
  mode         = "routed" # Calico's
  service_cidr = "10.96.0.0/12"
  docker       = true
}

node "node120" {}
node "node121" {}

client "laptop" {}

pod "webapp" {
  for_each = { a = "10.244.120.102", b = "10.244.120.103" }
  address  = each.value
  node     = node.node120
  labels   = { app = "webapp" }
  port "http" { port = 80 }
}

pod "shell" { node = node.node121 }

service "webapp" {
  type       = "NodePort"
  cluster_ip = "10.103.46.104"
  selector   = { app = "webapp" }
  port "" {
    port      = 80
    node_port = 31380
  }
}

locals {
  # Each chain of the table nat, rule by rule.
  chains = {
    KUBE-SERVICES             = <<-EOT
      -A KUBE-SERVICES ! -s 10.244.0.0/16 -d 10.103.46.104/32 -p tcp -m comment --comment "default/webapp cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
      -A KUBE-SERVICES -d 10.103.46.104/32 -p tcp -m comment --comment "default/webapp cluster IP" -m tcp --dport 80 -j KUBE-SVC-2IRACUALRELARSND
      -A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
    EOT
    KUBE-NODEPORTS            = <<-EOT
      -A KUBE-NODEPORTS -p tcp -m comment --comment "default/webapp" -m tcp --dport 31380 -j KUBE-MARK-MASQ
      -A KUBE-NODEPORTS -p tcp -m comment --comment "default/webapp" -m tcp --dport 31380 -j KUBE-SVC-2IRACUALRELARSND
    EOT
    KUBE-SVC-2IRACUALRELARSND = <<-EOT
      -A KUBE-SVC-2IRACUALRELARSND -m comment --comment "default/webapp" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-AO6KYGU752IZFEZ4
      -A KUBE-SVC-2IRACUALRELARSND -m comment --comment "default/webapp" -j KUBE-SEP-PJFBSHHDX4VZAOXM
    EOT
    KUBE-SEP-AO6KYGU752IZFEZ4 = <<-EOT
      -A KUBE-SEP-AO6KYGU752IZFEZ4 -s 10.244.120.102/32 -m comment --comment "default/webapp" -j KUBE-MARK-MASQ
      -A KUBE-SEP-AO6KYGU752IZFEZ4 -p tcp -m comment --comment "default/webapp" -m tcp -j DNAT --to-destination 10.244.120.102:80
    EOT
    KUBE-SEP-PJFBSHHDX4VZAOXM = <<-EOT
      -A KUBE-SEP-PJFBSHHDX4VZAOXM -s 10.244.120.103/32 -m comment --comment "default/webapp" -j KUBE-MARK-MASQ
      -A KUBE-SEP-PJFBSHHDX4VZAOXM -p tcp -m comment --comment "default/webapp" -m tcp -j DNAT --to-destination 10.244.120.103:80
    EOT
    KUBE-MARK-MASQ            = "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000"
  }
}

expect "the chains" {
  proves = ["articles.45", "articles.47", "articles.71", "articles.72", "articles.73", "articles.74", "articles.75", "articles.76", "articles.196", "articles.243"]
  dynamic "rules" {
    for_each = local.chains
    content {
      on     = node.node120
      table  = "nat"
      chain  = rules.key
      equals = rules.value
    }
  }
}

# Calico's chain first, then kube-proxy's, then that of Docker, which runs the containers: in the
# order of iptables -L, which is that of the rules in the chain.
expect "the first hook" {
  rules {
    on     = node.node120
    table  = "nat"
    chain  = "PREROUTING"
    equals = <<-EOT
      -A PREROUTING -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING
      -A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
      -A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
    EOT
  }
}

expect "every node answers" {
  proves = ["articles.66"]
  from   = client.laptop
  to     = ["${node.node120.ip}:31380", "${node.node121.ip}:31380"]
  answer = values(pod.webapp)
  source = [node.node120, node.node121]
}

expect "so does the cluster IP" {
  proves = ["articles.25", "articles.66"]
  from   = pod.shell
  to     = service.webapp
  answer = values(pod.webapp)
  source = pod.shell.ip
}

# Of all packets of a connection, the table nat sees the first.
expect "the way to the cluster IP" {
  proves = ["articles.77"]
  from   = pod.shell
  to     = service.webapp
  answer = values(pod.webapp)
  dynamic "rules" {
    for_each = {
      KUBE-SERVICES             = "-j KUBE-SVC-2IRACUALRELARSND"
      KUBE-SVC-2IRACUALRELARSND = "-A KUBE-SVC-2IRACUALRELARSND"
    }
    content {
      on      = node.node121
      table   = "nat"
      chain   = rules.key
      has     = rules.value
      counted = 1
    }
  }
  rules {
    on      = node.node121
    table   = "nat"
    has     = "-j DNAT"
    counted = 1
  }
}

expect "the way to the node port" {
  proves = ["articles.78"]
  from   = client.laptop
  to     = "${node.node121.ip}:31380"
  answer = values(pod.webapp)
  dynamic "rules" {
    for_each = {
      KUBE-SERVICES             = 0
      KUBE-NODEPORTS            = 1
      KUBE-SVC-2IRACUALRELARSND = 1
    }
    content {
      on      = node.node121
      table   = "nat"
      chain   = rules.key
      has     = startswith(rules.key, "KUBE-SVC") ? "-A ${rules.key}" : "-j KUBE-SVC-2IRACUALRELARSND"
      counted = rules.value
    }
  }
  rules {
    on      = node.node121
    table   = "nat"
    has     = "-j DNAT"
    counted = 1
  }
}
