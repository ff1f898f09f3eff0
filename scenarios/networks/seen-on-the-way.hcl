# What you will see: one connection from outside to a node port, as captures show it where it
# passes, and as connection tracking of both nodes knows it. It comes to node1 as it was sent,
# goes on inside UDP with node1's address in place of the client's, and arrives at the pod
# with a TTL that two routers have lowered.
#
#   laptop ──▶ node1 eth0 ──▶ flannel.1 ──▶ eth0 ══ VXLAN ══▶ node2 eth0 ──▶ cni0 ──▶ web eth0
#     192.168.0.x:? > node1:30080    │       node1 > node2:8472 around       pod:8080
#                                    └─ 10.244.1.0:? > pod:8080
#
# What to try: netlab explain laptop 192.168.0.11:30080, which predicts each of these packets;
# and network { mode = "host-gw" }, in which no packet is in another.
#
# The proof: "a node port is two rewrites and a tunnel", "what is tracked where", "datagrams
# can be counted", "the tunnel is a device and a route".

network {
  mode = "vxlan"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "echo" {
    port     = 5353
    protocol = "udp"
  }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
  port "echo" {
    port        = 53
    protocol    = "udp"
    target_port = "echo"
    node_port   = 30053
  }
}

expect "a node port is two rewrites and a tunnel" {
  proves = ["articles.34", "articles.35", "articles.152"]
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  seen {
    on            = node.node1
    direction     = "in"
    protocol      = "tcp"
    source        = client.laptop
    destination   = "${node.node1.ip}:30080"
    ttl           = 64
    encapsulation = "none"
  }
  seen {
    on                = node.node1
    direction         = "out"
    source            = cidrhost(node.node1.pod_cidr, 0) # that of flannel.1
    destination       = "${pod.web.ip}:8080"
    ttl               = 63
    encapsulation     = "vxlan"
    outer_source      = node.node1.ip
    outer_destination = "${node.node2.ip}:8472"
  }
  seen {
    on          = node.node2
    interface   = "flannel.1"
    direction   = "out"
    source      = "${pod.web.ip}:8080"
    destination = cidrhost(node.node1.pod_cidr, 0)
  }
  seen {
    on          = pod.web
    direction   = "in"
    destination = ":8080"
    ttl         = 62
  }
  seen {
    on     = pod.web
    source = client.laptop
    absent = true
  }
}

expect "what is tracked where" {
  proves = ["articles.34"]
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  tracked {
    on                = node.node1
    protocol          = "tcp"
    source            = client.laptop
    destination       = "${node.node1.ip}:30080"
    reply_source      = "${pod.web.ip}:8080"
    reply_destination = cidrhost(node.node1.pod_cidr, 0)
    replied           = true
    count             = 1
  }
  tracked {
    on     = node.node2
    source = client.laptop
    absent = true
  }
}

expect "datagrams can be counted" {
  from     = client.laptop
  to       = "${node.node1.ip}:30053"
  protocol = "udp"
  answer   = pod.web
  seen {
    on        = pod.web
    direction = "in"
    count     = 1
  }
}

expect "the tunnel is a device and a route" {
  proves = ["articles.150", "articles.151", "articles.162"]
  interface {
    on      = node.node1
    name    = "flannel.1"
    type    = "vxlan"
    mtu     = 1450
    up      = true
    address = "${cidrhost(node.node1.pod_cidr, 0)}/32"
  }
  interface {
    on     = node.node2
    type   = "veth"
    master = "cni0"
  }
  route {
    on   = node.node1
    to   = node.node2.pod_cidr
    via  = cidrhost(node.node2.pod_cidr, 0)
    dev  = "flannel.1"
    type = "unicast"
  }
  route {
    on     = node.node1
    to     = "10.244.9.0/24"
    absent = true
  }
}

expect "and an entry for the other node" {
  proves = ["articles.153"]
  run {
    on      = node.node1
    command = ["ip", "neighbour", "show", "dev", "flannel.1"]
    matches = "^${cidrhost(node.node2.pod_cidr, 0)} lladdr \\S+ PERMANENT\\s*$"
  }
  run {
    on      = node.node1
    command = ["bridge", "fdb", "show", "dev", "flannel.1"]
    matches = "^\\S+ dst ${node.node2.ip} self permanent\\s*$"
  }
}
