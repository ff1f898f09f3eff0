# What you will see: a firewall between two subnets. Its rule against UDP 8472 kills what
# VXLAN carries, while the nodes still reach each other: pods across the router time out, and
# nothing on either node looks wrong. Another rule keeps one client from the node port.
#
#   subnet default                     subnet b
#   n1 (a) ──── firewall ──── n2 (b)   guest   staff
#         drops UDP 8472, and TCP 30080 of guest
#
# What to try: netlab explain pod.a pod.b:80, which names the line of the rule that drops the
# datagram; netlab exec firewall -- iptables -vL FORWARD, where its counter climbs.
#
# The proof: "the tunnel is cut", "and the nodes are not".

network { mode = "vxlan" }

subnet "b" {}

router "firewall" {
  link "inside" {
    address = "192.168.0.5"
  }
  link "outside" { subnet = subnet.b }
  drop {
    protocol = "udp"
    port     = 8472
  }
  drop {
    protocol = "tcp"
    port     = 30080
    from     = client.guest
    to       = subnet.default
  }
}

node "n1" {}
node "n2" {
  subnet = subnet.b
}

client "guest" {
  subnet = subnet.b
}
client "staff" {
  subnet = subnet.b
}

pod "a" {
  node   = node.n1
  labels = { app = "a" }
  port "http" { port = 80 }
}
pod "b" {
  node = node.n2
  port "http" { port = 80 }
}

service "a" {
  type     = "NodePort"
  selector = { app = "a" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "each pod answers on its own node" {
  from = node.n1
  to   = pod.a
}

expect "and the other one" {
  from = node.n2
  to   = pod.b
}

expect "the tunnel is cut" {
  from    = [pod.a, node.n1]
  to      = pod.b
  outcome = "timeout"
}

expect "and the nodes are not" {
  from    = node.n1
  to      = addr(node.n2.ip, 22)
  outcome = "refused"
}

expect "staff may use the node port" {
  from = client.staff
  to   = addr(node.n1.ip, 30080)
}

expect "guests may not" {
  from    = client.guest
  to      = addr(node.n1.ip, 30080)
  outcome = "timeout"
}

expect "but all other ports" {
  from    = client.guest
  to      = addr(node.n1.ip, 22)
  outcome = "refused"
}
