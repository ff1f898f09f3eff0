# Kubernetes issue 72236: in proxy mode ipvs, every port a node listens on became
# reachable at every cluster IP, because that address is local to the node: a pod could
# reach the node's ssh at 10.96.0.1:22, bypassing network policies written for the
# node's other addresses.
#
# What you will see: the chain KUBE-IPVS-FILTER accepts traffic to a service's ports,
# and refuses everything else to a service's address.
#
#   shell ──▶ node1:2222            sshd answers
#   shell ──▶ 10.96.0.100:2222      refused
#   shell ──▶ 10.96.0.100:80        web answers
#
# What to try: netlab rules node1, and look for KUBE-IPVS-FILTER; netlab exec node1 --
# iptables -F KUBE-IPVS-FILTER, and netlab test on this file against the running lab.
#
# The proof: "the node's ports are not reachable at the cluster IP".

proxy {
  mode = "ipvs"
}

node "node1" {}
node "node2" {}

client "laptop" {
  routes = [{ to = "10.96.0.0/16", via = node.node1.ip }]
}

pod "sshd" {
  for_each     = { "node1" = true, "node2" = true }
  node         = each.key
  host_network = true
  port "ssh" { port = 2222 }
}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  type         = "NodePort"
  cluster_ip   = "10.96.0.100"
  selector     = { app = "web" }
  external_ips = ["198.51.100.1"]
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "the node's ports are not reachable at the cluster IP" {
  from    = [pod.shell, client.laptop, node.node1]
  to      = "10.96.0.100:2222"
  outcome = "refused"
}

expect "nor at an external IP" {
  from    = [pod.shell, client.laptop, node.node1]
  to      = "198.51.100.1:2222"
  outcome = "refused"
}

expect "they are reachable at the node's address" {
  from   = pod.shell
  to     = "${node.node1.ip}:2222"
  answer = pod.sshd["node1"]
}

expect "the service's own port is served" {
  from   = [pod.shell, client.laptop, node.node1]
  to     = "10.96.0.100:80"
  answer = pod.web
}
