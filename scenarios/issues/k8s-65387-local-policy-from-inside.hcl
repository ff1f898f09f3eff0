# What you will see: Kubernetes issue 65387, "externalTrafficPolicy: Local breaks
# internal reachability". A pod that dials the load balancer address from a node without
# endpoints used to hang. Now pods are short-circuited to all endpoints and keep their
# own address; the policy applies to outside clients only.
#
#   shell (node2, no endpoint) ──▶ VIP ──▶ web (node1), which sees the shell
#
# What to try: set detect_local = "none" in a proxy block: pods are then treated as
# outside clients.
#
# The proof: "a pod on a node without endpoints gets through".

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
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

pod "near" {
  node = node.node1
}

expect "a pod on a node without endpoints gets through" {
  from   = pod.shell
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = pod.shell.ip
}

expect "and one on a node with an endpoint" {
  from   = pod.near
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = pod.near.ip
}

expect "and at its own node's node port" {
  from   = pod.shell
  to     = "${node.node2.ip}:30080"
  answer = pod.web
  source = pod.shell.ip
}

expect "a pod reaches itself through the address" {
  from   = pod.web
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = node.node1
}

expect "the policy applies to outside clients" {
  from    = client.laptop
  to      = "${node.node2.ip}:30080"
  outcome = "timeout"
}
