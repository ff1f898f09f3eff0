# What you will see: Calico's network without encapsulation. There is no bridge: each
# pod has a link of its own to its node, which routes to the pod, and a pod is alone on
# its link. Its gateway 169.254.1.1 is an address that no host has. Between nodes there
# are plain routes, one per block, as BGP would set them (proto bird).
#
#   a (node1) ──▶ cali… ──▶ eth0 ── 10.244.2.0/24 via node2 ──▶ eth0 ──▶ cali… ──▶ b (node2)
#
# What to try: netlab exec node1 -- ip route; netlab exec a -- ip route, and then ip
# neigh; netlab exec node1 -- ipset list cali40all-ipam-pools: what is for these pools
# is not masqueraded. Compare with pod-to-pod-host-gw.hcl, which has the same routes
# between nodes, and a bridge on each.
#
# The proof: "between pods of one node there is a router", and at the end the block's
# addresses that no pod has.

network {
  mode = "routed"
}

node "node1" {}
node "node2" {}

client "laptop" {
  port "http" { port = 80 }
  routes = [{ to = node.node2.pod_cidr, via = node.node2.ip }, { to = node.node1.pod_cidr, via = node.node2.ip }]
}

pod "a" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "b" {
  node = node.node2
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "neighbour" {
  node = node.node1
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "agent" {
  node         = node.node2
  host_network = true
  port "http" { port = 9090 }
}

pod "local-agent" {
  node         = node.node1
  host_network = true
  port "http" { port = 9090 }
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

locals {
  pods = [pod.a, pod.b, pod.neighbour]
}

expect "every pod reaches every pod, unchanged" {
  from   = local.pods
  to     = local.pods
  port   = "http"
  source = each.from.ip
}

expect "udp as well" {
  from   = local.pods
  to     = local.pods
  port   = "echo"
  source = each.from.ip
}

expect "nodes reach every pod with their own address" {
  from   = [node.node1, node.node2]
  to     = local.pods
  port   = "http"
  source = each.from.ip
}

expect "and so do pods on the network of their node" {
  proves = ["articles.142"]
  from   = [pod.agent, pod.local-agent]
  to     = local.pods
  port   = "http"
  source = each.from.ip
}

expect "a pod reaches its own node as itself" {
  from   = pod.a
  to     = pod.local-agent
  port   = "http"
  source = pod.a
}

expect "and another node with the address of its own, which is not in a pool" {
  from   = pod.a
  to     = pod.agent
  port   = "http"
  source = node.node1
}

expect "two nodes forward what goes from one to the other" {
  from = pod.a
  to   = pod.b
  port = "http"
  ttl  = 62
}

expect "between pods of one node there is a router" {
  proves = ["articles.158"]
  from   = pod.a
  to     = pod.neighbour
  port   = "http"
  ttl    = 63
}

expect "no bridge and no tunnel: a route to each pod's device" {
  proves = ["articles.158"]
  from   = pod.a
  to     = pod.b
  port   = "http"
  dynamic "interface" {
    for_each = ["bridge", "vxlan", "ipip"]
    content {
      on     = node.node1
      type   = interface.value
      absent = true
    }
  }
  route {
    on = node.node1
    to = "${pod.a.ip}/32"
  }
  seen {
    on            = node.node2
    direction     = "in"
    source        = pod.a
    destination   = "${pod.b.ip}:8080"
    encapsulation = "none"
  }
}

expect "pods leave with their node's address" {
  from   = [pod.a, pod.b]
  to     = client.laptop
  port   = "http"
  source = node[each.from.node]
}

# Datagrams: the rest of a stream that returns by another way is INVALID, which
# kube-proxy drops.
expect "an outside host keeps its address, also by way of the wrong node" {
  from   = client.laptop
  to     = [pod.a, pod.b]
  port   = "echo"
  source = client.laptop
}

expect "a pod reaches itself through a service without a bridge's help" {
  from   = pod.a
  to     = service.web
  answer = pod.a
}

expect "an address of the block that no pod has: the node discards it" {
  from    = [pod.neighbour, pod.b]
  to      = "${cidrhost(node.node1.pod_cidr, 250)}:80"
  outcome = "timeout"
}

expect "which a process of the node is told at once" {
  from    = node.node1
  to      = "${cidrhost(node.node1.pod_cidr, 250)}:80"
  outcome = "unreachable"
}
