# What you will see: Calico's IP-in-IP. Pods and routes are as in pod-to-pod-routed.hcl,
# but routes to other nodes lead into tunl0, which puts each packet into another one, from
# node to node, of IP protocol 4: 20 bytes, so pods have an MTU of 1480. The network
# between the nodes sees no pod.
#
#   a (node1) ──▶ cali… ──▶ tunl0 ══ IP protocol 4 ══▶ tunl0 ──▶ cali… ──▶ b (node2)
#
# What to try: netlab explain -f pod-to-pod-ipip.hcl a b shows both headers; netlab exec
# node1 -- ip route; --var mode=CrossSubnet: both nodes are on one link, so nothing goes
# through the tunnel, and the address of a node towards pods of the other is that of its
# uplink.
#
# The proof: "every pod reaches every pod, unchanged", "a node dials from its tunnel".

variable "mode" {
  type    = string
  default = "Always"
}

network {
  mode = "ipip"
  ipip { mode = var.mode }
}

node "node1" {}
node "node2" {}

client "laptop" {
  port "http" { port = 80 }
}

pod "a" {
  node = node.node1
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "b" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "neighbour" {
  node = node.node1
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
  from   = [pod.a, pod.b]
  to     = [pod.a, pod.b]
  port   = "echo"
  source = each.from.ip
}

expect "a node dials from its tunnel" {
  from   = node.node1
  to     = pod.b
  port   = "http"
  source = var.mode == "Always" ? cidrhost(node.node1.pod_cidr, 0) : node.node1.ip
}

expect "two nodes forward what goes from one to the other" {
  from = pod.a
  to   = pod.b
  port = "http"
  ttl  = 62
}

expect "the tunnel is a device, around each packet" {
  proves = ["articles.160"]
  from   = pod.a
  to     = pod.b
  port   = "http"
  interface {
    on   = node.node1
    name = "tunl0"
    type = "ipip"
  }
  seen {
    on            = node.node1
    direction     = "out"
    source        = pod.a
    destination   = "${pod.b.ip}:8080"
    encapsulation = var.mode == "Always" ? "ipip" : "none"
  }
  seen {
    on                = node.node2
    direction         = "in"
    source            = pod.a
    destination       = "${pod.b.ip}:8080"
    encapsulation     = var.mode == "Always" ? "ipip" : "none"
    outer_source      = var.mode == "Always" ? node.node1.ip : null
    outer_destination = var.mode == "Always" ? node.node2.ip : null
  }
}

expect "between pods of one node there is a router and no tunnel" {
  from = pod.a
  to   = pod.neighbour
  port = "http"
  ttl  = 63
}

expect "pods leave with their node's address" {
  from   = pod.a
  to     = client.laptop
  port   = "http"
  source = node.node1
}

expect "a node port of the node without the pod goes through the tunnel, too" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.b
  source = var.mode == "Always" ? cidrhost(node.node1.pod_cidr, 0) : node.node1.ip
}

expect "and a service" {
  from   = [pod.a, pod.neighbour]
  to     = service.web
  answer = pod.b
  source = each.from.ip
}

expect "20 bytes" {
  proves = ["articles.160"]
  from   = pod.a
  to     = pod.b
  port   = "http"
  mtu    = 1480
}
