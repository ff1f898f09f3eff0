# What you will see: a packet that leaves the cluster takes the address of its node.
# The outside world has no route to pod addresses, so the node masquerades packets to
# addresses outside the pod network; between pods nothing is rewritten.
#
#   a (node1) ──▶ node1: masquerade ──▶ web server outside, which sees node1
#
# What to try: netlab exec a -- curl internet, then netlab exec node1 -- conntrack -L;
# or netlab rules node1, and look for the chain FLANNEL-POSTRTG.
#
# The proof: "the server outside sees the node".

node "node1" {}
node "node2" {}

client "internet" {
  port "http" { port = 80 }
}

pod "a" {
  node = node.node1
  port "http" { port = 8080 }
}

pod "b" {
  node = node.node2
  port "http" { port = 8080 }
}

pod "no-route" {
  node      = node.node1
  net_admin = true
  command   = ["sh", "-c", "ip route del default && exec sleep inf"]
  ready {
    exec = ["sh", "-c", "! ip route | grep default"]
  }
}

expect "the server outside sees the node" {
  proves = ["articles.113", "articles.115"]
  from   = pod.a
  to     = client.internet
  answer = client.internet
  source = node.node1.ip
}

expect "each pod has the address of its own node" {
  from   = pod.b
  to     = client.internet
  source = node.node2.ip
}

expect "a node keeps its own address" {
  proves = ["articles.115"]
  from   = node.node1
  to     = client.internet
  source = node.node1.ip
}

expect "inside the cluster nothing is rewritten" {
  from   = [pod.a, pod.b]
  to     = [pod.a, pod.b]
  source = each.from.ip
}

expect "without a default route, the bridge is all there is" {
  proves = ["articles.119", "articles.128"]
  run {
    on      = pod.no-route
    command = ["ping", "-c", "1", "-W", "1", pod.a.ip]
  }
  run {
    on      = pod.no-route
    command = ["ping", "-c", "1", "-W", "1", client.internet.ip]
    status  = 2
    matches = "Network is unreachable"
  }
  run {
    on      = pod.a
    command = ["ping", "-c", "1", "-W", "1", client.internet.ip]
  }
}

expect "which one does not add like this" {
  proves = ["articles.129"]
  run {
    on      = pod.no-route
    command = ["ip", "route", "add", "default", "gw", cidrhost(node.node1.pod_cidr, 1)]
    status  = 255
    matches = "\"gw\" is a garbage"
  }
}
