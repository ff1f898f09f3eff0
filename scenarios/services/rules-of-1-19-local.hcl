# What you will see: external traffic policy Local on Kubernetes 1.19, line by line. A node port
# leads to KUBE-XLB-…, which sends pods and the node itself on to every endpoint, and everybody
# else to an endpoint of the node alone. A node without one marks the packet, and the kubelet's
# chain KUBE-FIREWALL drops it.
#
#   laptop ──▶ node120:30080 ──▶ KUBE-XLB-2IRACUALRELARSND ──▶ KUBE-SEP-5T4S2ILYSXWY3R2J
#   laptop ──▶ node121:30080 ──▶ KUBE-XLB-2IRACUALRELARSND ──▶ KUBE-MARK-DROP
#
# What to try: netlab explain laptop node121:30080, on this file; the same with external_traffic_policy
# = "Cluster", and netlab test rules-of-1-19.hcl, where both nodes answer.
#
# The proof: "a node with the pod", "a node without it", "the rules drop" and "the shortcut".

proxy {
  mode = "iptables"
  iptables { layout = "1.19" }
}

network { service_cidr = "10.96.0.0/12" }

node "node120" {}
node "node121" {}

client "laptop" {}

pod "webapp" {
  address = "10.244.120.111"
  node    = node.node120
  labels  = { app = "webserver" }
  port "http" { port = 80 }
}

pod "shell" { node = node.node121 }

service "webapp" {
  type                    = "NodePort"
  cluster_ip              = "10.111.243.62"
  selector                = { app = "webserver" }
  external_traffic_policy = "Local"
  port "" {
    port      = 80
    node_port = 30080
  }
}

locals {
  node_port = <<-EOT
    -A KUBE-NODEPORTS -s 127.0.0.0/8 -p tcp -m comment --comment "default/webapp" -m tcp --dport 30080 -j KUBE-MARK-MASQ
    -A KUBE-NODEPORTS -p tcp -m comment --comment "default/webapp" -m tcp --dport 30080 -j KUBE-XLB-2IRACUALRELARSND
  EOT
  inside    = <<-EOT
    -A KUBE-XLB-2IRACUALRELARSND -s 10.244.0.0/16 -m comment --comment "Redirect pods trying to reach external loadbalancer VIP to clusterIP" -j KUBE-SVC-2IRACUALRELARSND
    -A KUBE-XLB-2IRACUALRELARSND -m comment --comment "masquerade LOCAL traffic for default/webapp LB IP" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
    -A KUBE-XLB-2IRACUALRELARSND -m comment --comment "route LOCAL traffic for default/webapp LB IP to service chain" -m addrtype --src-type LOCAL -j KUBE-SVC-2IRACUALRELARSND
  EOT
}

expect "a node with the pod" {
  proves = ["articles.80", "articles.81", "articles.82", "articles.83", "articles.85", "articles.86"]
  from   = client.laptop
  to     = "${node.node120.ip}:30080"
  answer = pod.webapp
  source = client.laptop.ip
  rules {
    on     = node.node120
    table  = "nat"
    chain  = "KUBE-NODEPORTS"
    equals = local.node_port
  }
  rules {
    on     = node.node120
    chain  = "KUBE-XLB-2IRACUALRELARSND"
    equals = "${local.inside}-A KUBE-XLB-2IRACUALRELARSND -m comment --comment \"Balancing rule 0 for default/webapp\" -j KUBE-SEP-5T4S2ILYSXWY3R2J"
  }
  rules {
    on     = node.node120
    chain  = "KUBE-SVC-2IRACUALRELARSND"
    equals = <<-EOT
      -A KUBE-SVC-2IRACUALRELARSND -m comment --comment "default/webapp" -j KUBE-SEP-5T4S2ILYSXWY3R2J
    EOT
  }
}

expect "a node without it" {
  proves  = ["articles.84"]
  from    = client.laptop
  to      = "${node.node121.ip}:30080"
  outcome = "timeout"
}

expect "the rules drop" {
  proves = ["articles.37", "articles.84"]
  rules {
    on     = node.node121
    chain  = "KUBE-XLB-2IRACUALRELARSND"
    equals = "${local.inside}-A KUBE-XLB-2IRACUALRELARSND -m comment --comment \"default/webapp has no local endpoints\" -j KUBE-MARK-DROP"
  }
  rules {
    on    = node.node121
    table = "filter"
    chain = "KUBE-FIREWALL"
    has   = "--mark 0x8000/0x8000 -j DROP"
  }
}

expect "the shortcut" {
  proves = ["articles.37", "articles.81"]
  from   = pod.shell
  to     = "${node.node121.ip}:30080"
  answer = pod.webapp
  source = pod.shell.ip
}
