# What you will see: flannel and Calico together. Between nodes packets travel in
# flannel's tunnels, as in pod-to-pod-vxlan.hcl; on a node there is no bridge: each pod
# has a link of its own, as in pod-to-pod-routed.hcl. Policies are laid out as Calico
# does, since the mode brings that style along.
#
#   a (node1) ──▶ cali… ──▶ flannel.1 ══UDP 8472══▶ flannel.1 ──▶ cali… ──▶ b (node2)
#
# What to try: netlab exec node1 -- ip route shows cali… and flannel.1 side by side;
# netlab rules node1 shows cali-FORWARD, and FLANNEL-POSTRTG behind it; netlab explain
# -f canal.hcl a b; --var direct=true spares the tunnel between neighbours.
#
# The proof: "what the policy allows, unchanged", "between pods of one node there is a
# router", "what it does not allow".

variable "direct" {
  type    = bool
  default = false
}

network {
  mode = "canal"
  canal {
    vni            = 1
    port           = 8472
    direct_routing = var.direct
  }
}

node "node1" {}
node "node2" {}

client "laptop" {
  port "http" { port = 80 }
}

pod "a" {
  node   = node.node1
  labels = { role = "client" }
}

pod "stranger" {
  node = node.node2
}

pod "near" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "far" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "open" {
  node = node.node2
  port "http" { port = 8080 }
}

policy "web" {
  pod_selector = { app = "web" }
  ingress {
    from {
      pod_selector = { role = "client" }
    }
    port {
      port = "http"
    }
  }
}

expect "what the policy allows, unchanged" {
  from   = pod.a
  to     = [pod.near, pod.far]
  port   = "http"
  source = pod.a
}

expect "what it does not allow" {
  from    = pod.stranger
  to      = [pod.near, pod.far]
  port    = "http"
  outcome = "timeout"
}

expect "a pod without a policy" {
  from   = [pod.a, pod.stranger]
  to     = pod.open
  port   = "http"
  source = each.from.ip
}

expect "between pods of one node there is a router" {
  from = pod.stranger
  to   = pod.open
  port = "http"
  ttl  = 63
}

expect "between pods of two nodes there are two" {
  from = pod.a
  to   = pod.far
  port = "http"
  ttl  = 62
}

expect "a node reaches a pod of another node from its tunnel" {
  from   = node.node1
  to     = pod.open
  port   = "http"
  source = var.direct ? node.node1.ip : cidrhost(node.node1.pod_cidr, 0)
}

expect "and its own pods from its uplink" {
  from   = node.node2
  to     = pod.open
  port   = "http"
  source = node.node2.ip
}

expect "pods leave with their node's address" {
  from   = [pod.a, pod.stranger]
  to     = client.laptop
  port   = "http"
  source = node[each.from.node]
}
