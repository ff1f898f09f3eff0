# What you will see: a pod leaves the cluster as its node, and does not notice. The world
# outside knows no pod addresses, so the node puts its own address and a port of its own
# into the packet, remembers the connection, and puts the pod's address back into the
# reply. Towards other pods nothing is rewritten.
#
#   a 10.244.1.x ──▶ node1 ──masquerade──▶ 192.168.0.11 ──▶ server outside
#   a 10.244.1.x ◀── node1 ◀──restored─── 192.168.0.11 ◀──┘
#
# What to try: netlab explain a server; netlab up on this file, netlab exec a -- curl -s
# server, and netlab exec node1 -- cat /proc/net/nf_conntrack.
#
# The proof: "the server sees the node", "the pod does not notice" and "the node
# remembers".

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

client "server" {
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

expect "the server sees the node" {
  proves = ["articles.7", "articles.113"]
  from   = pod.a
  to     = client.server
  source = node.node1.ip
}

expect "the pod does not notice" {
  proves = ["articles.7", "articles.8", "articles.132"]
  from   = pod.a
  to     = client.server
  seen {
    on          = pod.a
    direction   = "out"
    source      = pod.a
    destination = "${client.server.ip}:80"
  }
  seen {
    on          = node.node1
    direction   = "out"
    source      = node.node1.ip
    destination = "${client.server.ip}:80"
  }
  seen {
    on          = pod.a
    direction   = "in"
    source      = "${client.server.ip}:80"
    destination = pod.a
  }
}

expect "the node remembers" {
  from = pod.a
  to   = client.server
  tracked {
    on                = node.node1
    source            = pod.a
    destination       = "${client.server.ip}:80"
    reply_source      = "${client.server.ip}:80"
    reply_destination = node.node1.ip
    replied           = true
  }
}

expect "towards a pod nothing is rewritten" {
  from   = pod.a
  to     = pod.b
  source = pod.a.ip
}
