# What you will see: a pod on the host network has its node's addresses. To the pod
# network it is not a pod: when a pod of another node dials it, flannel's rule for
# traffic that leaves the pod network masquerades the packet; a pod of the same node
# keeps its address, because its packet does not leave the node.
#
#   far  (node2) ──▶ cluster IP ──▶ proxy on node1, which sees node2
#   near (node1) ──▶ cluster IP ──▶ proxy on node1, which sees the pod
#
# What to try: netlab exec node1 -- ss -lnt
#
# The proof: "a pod of another node is masqueraded by the pod network".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "proxy" {
  node         = node.node1
  host_network = true
  labels       = { app = "proxy" }
  port "http" { port = 8080 }
}

pod "near" {
  node = node.node1
}

pod "far" {
  node = node.node2
}

service "proxy" {
  type                    = "NodePort"
  selector                = { app = "proxy" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "a pod of another node is masqueraded by the pod network" {
  proves = ["articles.4"]
  from   = pod.far
  to     = service.proxy
  answer = pod.proxy
  source = node.node2
}

expect "a pod of the same node keeps its address" {
  from   = pod.near
  to     = service.proxy
  answer = pod.proxy
  source = pod.near.ip
}

expect "a client from outside keeps its address" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.proxy
  source = client.laptop.ip
}

expect "it also answers without the service" {
  from   = client.laptop
  to     = pod.proxy
  answer = pod.proxy
}

expect "the other node has no local endpoint" {
  from    = client.laptop
  to      = "${node.node2.ip}:30080"
  outcome = "timeout"
}
