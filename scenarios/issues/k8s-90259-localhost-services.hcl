# What you will see: Kubernetes issue 90259 (CVE-2020-8558), services on the loopback
# address of a node that neighbours could reach. Node ports on 127.0.0.1 need the kernel
# to route the loopback range, and then a neighbour's packet to 127.0.0.1 is accepted,
# too. KUBE-FIREWALL drops packets to the range from elsewhere, unless they belong to a
# connection or were translated, so node ports on 127.0.0.1 keep working.
#
#   node1    ──▶ 127.0.0.1:30080 ──▶ web
#   neighbor ──▶ 127.0.0.1       ──▶ dropped: "block incoming localnet connections"
#
# What to try: netlab rules node1, and look for KUBE-FIREWALL; its rule is gone in
# localhost-node-port-off.hcl, together with route_localnet.
#
# The proof: "node ports on the loopback address pass the firewall", "a rule drops what comes
# from elsewhere".

node "node1" {}
node "node2" {}

client "neighbor" {}

pod "web" {
  for_each = { "0" = node.node1.name, "1" = node.node2.name }
  node     = each.value
  labels   = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "node ports on the loopback address pass the firewall" {
  from   = node.node1
  to     = "127.0.0.1:30080"
  answer = pod.web
  source = node.node1
}

expect "a neighbour must use the node's address" {
  from   = client.neighbor
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = node.node1
}

expect "a rule drops what comes from elsewhere" {
  rules {
    on    = node.node1
    table = "filter"
    chain = "KUBE-FIREWALL"
    has   = "! -s 127.0.0.0/8 -d 127.0.0.0/8"
  }
  rules {
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has   = "-j KUBE-FIREWALL"
  }
}
