# What you will see: a kube-proxy that cannot tell pods from other clients, because it
# does not know their range (no --cluster-cidr). It masquerades no traffic to a cluster
# IP except hairpins, so a process of a node keeps its source address, and under
# external traffic policy Local pods are not short-circuited: they are treated as
# outside clients.
#
#   node1 ──▶ cluster IP ──▶ near, which sees 192.168.0.11 and not the bridge
#   shell ──▶ node1:30081 (Local, endpoint on node2) ──▶ dropped
#
# What to try: set detect_local = "cluster_cidr", and see which expectations fail.
#
# The proof: "a node keeps its address" and "pods are not short-circuited".

proxy {
  detect_local = "none"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "near" {
  node   = node.node1
  labels = { app = "near" }
  port "http" { port = 8080 }
}

pod "far" {
  node   = node.node2
  labels = { app = "far" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "near" {
  selector = { app = "near" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "far" {
  type                    = "NodePort"
  selector                = { app = "far" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

expect "a node keeps its address" {
  from   = node.node1
  to     = service.near
  answer = pod.near
  source = node.node1.ip
}

expect "a pod keeps its address" {
  from   = pod.shell
  to     = [service.near, service.far]
  source = pod.shell.ip
}

expect "a hairpin is masqueraded as always" {
  from   = pod.near
  to     = service.near
  answer = pod.near
  source = node.node1
}

expect "pods are not short-circuited" {
  from    = pod.shell
  to      = "${node.node1.ip}:30081"
  outcome = "timeout"
}

expect "the node itself is" {
  from   = node.node1
  to     = "${node.node1.ip}:30081"
  answer = pod.far
  source = node.node1
}

expect "outside clients reach the endpoint on its node" {
  from   = client.laptop
  to     = "${node.node2.ip}:30081"
  answer = pod.far
  source = client.laptop.ip
}
