# Kubernetes issue 75262: with externalTrafficPolicy = Local and proxy mode ipvs, a node
# without endpoints had a virtual server without real servers. Since the load balancer
# address is local on every node, neither the pods of such a node nor its own processes
# could ever reach the service.
#
# What you will see: since pull request 97081 the virtual server of such a node has the
# endpoints of all nodes. Its pods get through with their own address; its processes
# with the node's, because the pod network masquerades them.
#
#   shell (node2, no endpoint) ──▶ VIP ──▶ web (node1), which sees the shell
#
# What to try: netlab explain -f scenarios/issues/k8s-75262-ipvs-no-local-endpoints.hcl
# shell 203.0.113.10:80; netlab exec node2 -- ip route get 203.0.113.10, which says
# "local".
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

expect "so does a process of that node" {
  from   = node.node2
  to     = "203.0.113.10:80"
  answer = pod.web
  source = node.node2
}

expect "a process on the endpoint's node is seen with the service's address" {
  from   = node.node1
  to     = "203.0.113.10:80"
  answer = pod.web
  source = "203.0.113.10"
}

expect "outside clients keep their address" {
  from   = client.laptop
  to     = "203.0.113.10:80"
  answer = pod.web
  source = client.laptop.ip
}
