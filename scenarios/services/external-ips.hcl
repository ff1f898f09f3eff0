# What you will see: externalIPs, outside addresses that are routed to the nodes. A
# service of type ClusterIP with one counts as reachable from outside, so it may have
# an external traffic policy, which decides whether the pod sees the client.
#
#   laptop ──▶ 198.51.100.10 ──▶ node1: masquerade ──▶ web       Cluster
#   laptop ──▶ 198.51.100.11 ──▶ node1 ──▶ web sees the laptop   Local
#   laptop ──▶ 198.51.100.12 ──▶ node2 ──▶ dropped               Local, no endpoint here
#
# What to try: netlab rules node1, and look for "external IP".
#
# The proof: "policy Local keeps the client's address" and "without a local endpoint it
# drops".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
}

service "cluster" {
  selector     = { app = "web" }
  external_ips = ["198.51.100.10"]
  port "http" {
    port        = 80
    target_port = "http"
  }
  load_balancer { via = [node.node1] }
}

service "local" {
  selector                = { app = "web" }
  external_ips            = ["198.51.100.11"]
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "elsewhere" {
  selector                = { app = "web" }
  external_ips            = ["198.51.100.12"]
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
  }
  load_balancer { via = [node.node2] }
}

expect "policy Cluster masquerades" {
  from   = client.laptop
  to     = "198.51.100.10:80"
  answer = pod.web
  source = node.node1
}

expect "policy Local keeps the client's address" {
  from   = client.laptop
  to     = "198.51.100.11:80"
  answer = pod.web
  source = client.laptop.ip
}

expect "without a local endpoint it drops" {
  from    = client.laptop
  to      = "198.51.100.12:80"
  outcome = "timeout"
}

expect "under Cluster a pod is short-circuited and masqueraded" {
  from   = pod.shell
  to     = "${service.cluster.external_ips[0]}:80"
  answer = pod.web
  source = node.node2
}

expect "under Local a pod keeps its address, even without a local endpoint" {
  from   = pod.shell
  to     = ["198.51.100.11:80", "198.51.100.12:80"]
  answer = pod.web
  source = pod.shell.ip
}

expect "a node reaches them as itself" {
  from   = node.node2
  to     = ["198.51.100.10:80", "198.51.100.11:80", "198.51.100.12:80"]
  answer = pod.web
  source = node.node2
}
