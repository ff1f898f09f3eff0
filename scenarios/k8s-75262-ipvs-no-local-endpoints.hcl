# Kubernetes issue 75262: with externalTrafficPolicy = Local and proxy mode ipvs, a node
# without endpoints had a virtual server without real ones. Since the load balancer address
# is local on every node, nothing that came from such a node could ever reach the service:
# neither its pods nor its own processes.
#
# What you will see: since pull request 97081 the virtual server of such a node has the
# endpoints of all nodes. Its pods get through with their own address, its processes with
# that of the node, by the grace of the pod network, which masquerades them.
#
#   shell (node2, no endpoint) ──▶ VIP ──▶ web (node1), which sees the shell
#
# What to try: netlab explain -f scenarios/k8s-75262-ipvs-no-local-endpoints.hcl shell
# 203.0.113.10:80; netlab exec node2 -- ip route get 203.0.113.10, which says "local".
#
# The proof: "a pod of a node without endpoints gets through".

proxy {
  mode = "ipvs"
}

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

service "web" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  load_balancer {
    ip  = "203.0.113.10"
    via = [node.node1]
  }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "a pod of a node without endpoints gets through" {
  from   = pod.shell
  to     = "203.0.113.10:80"
  answer = pod.web
  source = pod.shell.ip
}

expect "so does a process of it" {
  from   = node.node2
  to     = "203.0.113.10:80"
  answer = pod.web
  source = node.node2
}

expect "a process beside the endpoint is seen with the service's address" {
  from   = node.node1
  to     = "203.0.113.10:80"
  answer = pod.web
  source = "203.0.113.10"
}

expect "the outside keeps its address" {
  from   = client.laptop
  to     = "203.0.113.10:80"
  answer = pod.web
  source = client.laptop.ip
}
