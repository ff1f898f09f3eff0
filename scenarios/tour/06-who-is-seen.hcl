# What you will see: two services on the same pod, with external traffic policies Cluster and
# Local. Under Cluster every node answers, and the pod sees a node. Under Local the pod sees
# the client itself, and a node without a pod of the service drops what comes. Articles leave
# out the shortcut: what comes from inside the cluster is served under Local, too, by any
# node, and may go to any pod.
#
#   laptop ──▶ node2:31380 (Cluster) ──▶ node1 ──▶ web sees node2
#   laptop ──▶ node1:31381 (Local)   ──▶ web sees the laptop
#   laptop ──▶ node2:31381 (Local)   ──▶ dropped
#   shell  ──▶ node2:31381 (Local)   ──▶ web sees the shell
#
# What to try: netlab explain laptop node2:31381; netlab rules node2 -f and this file, and look
# into the chains KUBE-EXT-… of both; netlab test --matrix proxy=iptables,nftables on this file.
#
# The proof: "Cluster: every node, and the pod sees a node", "Local: the pod sees the client",
# "Local: a node without a pod drops" and "the shortcut".

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" { node = node.node2 }

service "cluster" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31380
  }
}

service "local" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31381
  }
}

expect "Cluster: every node, and the pod sees a node" {
  proves = ["articles.32"]
  from   = client.laptop
  to     = ["${node.node1.ip}:31380", "${node.node2.ip}:31380"]
  answer = pod.web
  source = [node.node1, node.node2]
}

expect "Cluster: the node asked is the one that is seen" {
  proves = ["articles.29"]
  from   = client.laptop
  to     = "${node.node2.ip}:31380"
  source = node.node2.ip
}

expect "Local: the pod sees the client" {
  from   = client.laptop
  to     = "${node.node1.ip}:31381"
  answer = pod.web
  source = client.laptop.ip
}

expect "Local: a node without a pod drops" {
  from    = client.laptop
  to      = "${node.node2.ip}:31381"
  outcome = "timeout"
}

expect "the shortcut" {
  from   = pod.shell
  to     = "${node.node2.ip}:31381"
  answer = pod.web
  source = pod.shell.ip
}

expect "for the node's own processes, too" {
  from   = node.node2
  to     = "${node.node2.ip}:31381"
  answer = pod.web
  source = node.node2.ip
}

expect "the cluster IP does not care" {
  proves = ["articles.257"]
  from   = pod.shell
  to     = service.local
  answer = pod.web
  source = pod.shell.ip
}
