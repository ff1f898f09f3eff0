# What you will see: the TTL counts the routers between client and server. A node that
# forwards a packet decrements it, a bridge does not, and a tunnel leaves the inner TTL
# alone, so a pod of another node sees 62 in every pod network.
#
#   shell 64 ──▶ node1 63 ──▶ node2 62 ──▶ remote
#
# A service takes the same path. Only IPVS differs, and only for processes of the node
# itself: it forwards what it sends to another node, so 62 arrives instead of 63.
#
# What to try: netlab explain ttl.hcl shell remote, and count the forwarding steps;
# netlab exec shell -- ping -c 1 remote prints the TTL of the reply.
#
# The proof: "two nodes are on the path".

matrix {
  network = ["vxlan", "host-gw"]
  proxy   = ["iptables", "ipvs"]
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "shell" {
  node = node.node1
}

pod "near" {
  node = node.node1
  port "http" { port = 8080 }
}

pod "remote" {
  node   = node.node2
  labels = { app = "remote" }
  port "http" { port = 8080 }
}

service "remote" {
  type     = "NodePort"
  selector = { app = "remote" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "two nodes are on the path" {
  from = pod.shell
  to   = pod.remote
  ttl  = 62
}

expect "a bridge leaves the TTL alone" {
  from = pod.shell
  to   = pod.near
  ttl  = 64
}

expect "a node does not forward what its own processes send" {
  from = node.node1
  to   = pod.remote
  ttl  = 63
}

expect "a service does not lengthen the path" {
  from   = pod.shell
  to     = service.remote
  answer = pod.remote
  ttl    = 62
}

expect "a node port of the pod's own node" {
  from   = client.laptop
  to     = "${node.node2.ip}:30080"
  answer = pod.remote
  ttl    = 63
}

expect "a node port of another node adds a hop" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.remote
  ttl    = 62
}
