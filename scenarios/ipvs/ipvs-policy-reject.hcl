# What you will see: a denied connection is refused even when IPVS balances it. IPVS
# sends packets through OUTPUT, not FORWARD, so the policies of an endpoint are enforced
# there. A TCP reset, as used elsewhere, would be lost: for a packet that came in over a
# bridge it goes straight back, and the pod would get it from the endpoint, not from the
# service that it dialed. So packets that IPVS sends carry the mark 0x200000 and are
# refused with an ICMP error, which IPVS translates back.
#
#   near   ──▶ cluster IP ──IPVS──▶ web     refused, on one node
#   far    ──▶ cluster IP ──IPVS──▶ web     refused by the other node
#   laptop ──▶ node port  ──IPVS──▶ web     refused
#   friend ──▶ cluster IP ──IPVS──▶ web     connected
#
# What to try: netlab rules node1, and look for 0x200000; netlab explain near web:80; and
# the other styles, "calico" and "kube-router".
#
# The proof: "a neighbour of the endpoint is refused" and "outside clients are
# refused".

proxy { mode = "ipvs" }

policies {
  style = "nftables"
  deny  = "reject"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "dns" {
    port     = 5353
    protocol = "udp"
  }
}

pod "friend" {
  node   = node.node1
  labels = { friend = "yes" }
}

pod "near" { node = node.node1 }
pod "far" { node = node.node2 }

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
  port "dns" {
    port        = 53
    target_port = "dns"
    node_port   = 30053
    protocol    = "udp"
  }
}

policy "friends" {
  pod_selector = { app = "web" }
  ingress {
    from { pod_selector = { friend = "yes" } }
  }
}

expect "a neighbour of the endpoint is refused" {
  from    = pod.near
  to      = ["${service.web.cluster_ip}:80", "${node.node1.ip}:30080"]
  outcome = "refused"
}

expect "so is a pod of another node" {
  from    = pod.far
  to      = ["${service.web.cluster_ip}:80", "${node.node2.ip}:30080"]
  outcome = "refused"
}

expect "outside clients are refused" {
  from    = client.laptop
  to      = ["${node.node1.ip}:30080", "${node.node2.ip}:30080"]
  outcome = "refused"
}

expect "datagrams are refused" {
  from     = [pod.near, pod.far]
  to       = "${service.web.cluster_ip}:53"
  protocol = "udp"
  outcome  = "refused"
}

expect "friends get through" {
  from   = pod.friend
  to     = "${service.web.cluster_ip}:80"
  answer = pod.web
}
