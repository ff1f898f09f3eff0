# What you will see: why a firewall must not drop all ICMP. The last link to the nodes is narrow. The
# router in front of it drops packets that are too big and says so, "fragmentation needed", and the
# client's kernel sends smaller ones. One office is behind a firewall that lets no ICMP through: it
# never learns. Its connections open, small requests are answered, and its uploads stall.
#
#   branch ──────────────────┐
#                            core ──── 1400 ──── node1 (web)
#   office ── firewall ──────┘
#
# What to try: netlab explain --upload 100000 office 192.168.0.11:30080, with the lab up, and the same
# from branch; remove the drop block.
#
# The proof: "uploads of the branch arrive", "uploads of the office stall".

subnet "backbone" {}
subnet "office" {}

router "core" {
  link "nodes" { mtu = 1400 }
  link "backbone" { subnet = subnet.backbone }
}

router "firewall" {
  link "backbone" { subnet = subnet.backbone }
  link "office" { subnet = subnet.office }
  drop { protocol = "icmp" }
}

node "node1" {}

client "branch" {
  subnet = subnet.backbone
}

client "office" {
  subnet = subnet.office
}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "small requests are answered" {
  from = [client.branch, client.office]
  to   = "${node.node1.ip}:30080"
}

expect "uploads of the branch arrive" {
  from   = client.branch
  to     = "${node.node1.ip}:30080"
  upload = 100000
}

expect "in packets that fit" {
  from = client.branch
  to   = "${node.node1.ip}:30080"
  mtu  = 1400
}

expect "uploads of the office stall" {
  from    = client.office
  to      = "${node.node1.ip}:30080"
  upload  = 100000
  outcome = "timeout"
}
