# What you will see: traffic policy Local as IPVS implements it. A node with an endpoint
# sends all connections to its own endpoints, including those of its pods and processes,
# which mode iptables short-circuits to all endpoints. A node without one does not drop,
# but falls back to the endpoints of all nodes; where the policy is internal and the
# service has no external address, the virtual server is empty and the node refuses.
#
#   laptop ──▶ node1:31380 ──▶ web-0 (node1)            sees the laptop
#   laptop ──▶ node3:31380 ──▶ web-0 or web-1           sees node3 (masquerade)
#   near   ──▶ node1:31380 ──▶ web-0
#   far    ──▶ cluster IP of inside ──▶ (refused)
#
# What to try: netlab exec node3 -- ipvsadm -Ln, and the same on node1; then
# netlab test --matrix proxy=iptables,ipvs on this file, which shows what differs.
#
# The proof: "a node with an endpoint uses its own", "a node without one falls back" and
# "an internal service without a local endpoint refuses".

proxy {
  mode = "ipvs"
}

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

pod "web" {
  count  = 2
  node   = "node${count.index + 1}"
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "near" {
  node = node.node1
}

pod "far" {
  node = node.node3
}

service "web" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31380
  }
}

service "inside" {
  selector                = { app = "web" }
  internal_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "the pod sees the client's address" {
  from   = client.laptop
  to     = "${node.node1.ip}:31380"
  answer = pod.web[0]
  source = client.laptop.ip
}

expect "a node with an endpoint uses its own" {
  from   = [pod.near, node.node1]
  to     = "${node.node1.ip}:31380"
  answer = pod.web[0]
}

expect "a node without one falls back" {
  from   = client.laptop
  to     = "${node.node3.ip}:31380"
  answer = pod.web
  source = node.node3
}

expect "its pods keep their address" {
  from   = pod.far
  to     = "${node.node3.ip}:31380"
  answer = pod.web
  source = pod.far.ip
}

expect "an internal service stays on the node" {
  from   = pod.near
  to     = service.inside
  answer = pod.web[0]
}

expect "an internal service without a local endpoint refuses" {
  from    = [pod.far, node.node3]
  to      = service.inside
  outcome = "refused"
}

expect "the external policy does not affect the cluster IP" {
  from   = [pod.far, pod.near]
  to     = service.web
  answer = pod.web
}
