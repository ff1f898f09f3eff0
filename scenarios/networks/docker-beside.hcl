# What you will see: nodes that have Docker, too, beside their pod network, as where Docker ran first:
# the bridge docker0 with 172.17.0.1 on every node and nobody on it, and the rules of its daemon between
# those of kube-proxy and flannel. Pods notice nothing. The bridge's address is one more of the node:
# node ports and host ports answer there, for the node itself and its pods; and what the node sends from
# it to a pod has another source on the way out, since docker0 is not how it leaves.
#
#     laptop ──▶ node1 192.168.0.11 ── cni0 10.244.1.1 ── web, shell
#                      └── docker0 172.17.0.1 (nobody)
#
# The daemon closes FORWARD (policy DROP) where it has to switch ip_forward on itself. Nodes of
# Kubernetes forward before it starts, so it does not; the fault shows what it would have meant for a
# node without flannel's rule that accepts.
#
# What to try: netlab rules; netlab explain node1 172.17.0.1:8080; netlab exec node1 -- ip -br addr.
#
# The proof: "pods keep their addresses", "the bridge's address is one of the node" and below the
# fault "nothing else accepts".

network {
  mode   = "host-gw"
  docker = true
}

node "node1" {}
node "node2" {}

# Two hosts that send to each other by way of node1.
client "laptop" {
  address = "192.168.0.201"
  routes  = [{ to = "192.168.0.202/32", via = node.node1.ip }]
  port "http" { port = 80 }
}

client "phone" {
  address = "192.168.0.202"
  routes  = [{ to = "192.168.0.201/32", via = node.node1.ip }]
}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" {
    port      = 80
    host_port = 8080
  }
}

pod "shell" { node = node.node1 }
pod "far" { node = node.node2 }

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "pods keep their addresses" {
  from   = [pod.shell, pod.far]
  to     = pod.web
  source = each.from.ip
}

expect "services work" {
  from   = [pod.shell, pod.far]
  to     = [service.web, "${node.node2.ip}:30080"]
  answer = pod.web
}

expect "the bridge's address is one of the node" {
  from   = [node.node1, pod.shell]
  to     = ["172.17.0.1:30080", "172.17.0.1:8080"]
  answer = pod.web
}

expect "what leaves from it by another link is masqueraded" {
  from   = node.node1
  to     = "172.17.0.1:8080"
  source = "10.244.1.1"
}

expect "on each node it is another one" {
  from    = [node.node2, pod.far]
  to      = "172.17.0.1:8080"
  outcome = "refused"
}

expect "the node forwards for others, too" {
  from   = client.phone
  to     = client.laptop
  source = client.phone
}

expect "Docker's rules" {
  rules {
    on    = node.node1
    tool  = "iptables"
    table = "nat"
    has = [
      "-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER",
      "-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER",
      "-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE",
      "-A DOCKER -i docker0 -j RETURN",
    ]
  }
  rules {
    on    = node.node1
    table = "filter"
    has   = "-A FORWARD -j DOCKER-USER"
  }
}

fault "FORWARD is closed" {
  kind = "closed-forward"
  node = node.node1

  expect "nothing else accepts" {
    from    = client.phone
    to      = [client.laptop, pod.web]
    outcome = "timeout"
  }
}
