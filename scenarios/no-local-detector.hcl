# What you will see: a kube-proxy that cannot tell pods from others, for nobody told it
# their range (no --cluster-cidr). It masquerades nothing on the way to a cluster IP but
# hairpins, so a node's process is seen with the address that its packets had, and under
# external traffic policy Local pods get no short cut: they are treated as the outside.
#
#   node1 ──▶ cluster IP ──▶ near, which sees 192.168.0.11 and not the bridge
#   shell ──▶ node1:30081 (Local, endpoint on node2) ──▶ silence
#
# What to try: set detect_local = "cluster_cidr", and see which expectations fail.
#
# The proof: "a node keeps its address" and "pods have no short cut".

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

expect "a hairpin is masqueraded as ever" {
  from   = pod.near
  to     = service.near
  answer = pod.near
  source = node.node1
}

expect "pods have no short cut" {
  from    = pod.shell
  to      = "${node.node1.ip}:30081"
  outcome = "timeout"
}

expect "the node itself has" {
  from   = node.node1
  to     = "${node.node1.ip}:30081"
  answer = pod.far
  source = node.node1
}

expect "the outside finds the endpoint on its node" {
  from   = client.laptop
  to     = "${node.node2.ip}:30081"
  answer = pod.far
  source = client.laptop.ip
}
