# What you will see: with externalTrafficPolicy = Local a node port keeps the client's
# address, because the node never forwards the connection to another node; where no
# endpoint is local, the packet is dropped. Inside the cluster nothing changes.
#
#   laptop ──▶ node1:31380 ──▶ web-0        the pod sees the laptop
#   laptop ──▶ node2:31380 ──▶ (dropped)    timeout
#
# What to try: netlab up scenarios/local-policy.hcl, then
#   netlab exec laptop -- nc 192.168.0.11 31380
#   netlab up --var replicas=2 scenarios/local-policy.hcl, which adds web-1 to node1
# and change the policy to "Cluster": compare cluster-policy.hcl.
#
# The proof: "the pod sees the client's address" and "a node without an endpoint
# drops".

variable "replicas" {
  type        = number
  default     = 1
  description = "pods behind the service, all of them on node1"
}

network {
  mode         = "vxlan"
  pod_cidr     = "10.244.0.0/16"
  service_cidr = "10.96.0.0/16"
  node_cidr    = "192.168.0.0/24"
}

proxy {
  mode = "iptables"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  count  = var.replicas
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31380
  }
  external_traffic_policy = "Local"
}

expect "the pod sees the client's address" {
  proves = ["articles.23", "articles.26", "articles.40"]
  from   = client.laptop
  to     = "${node.node1.ip}:31380"
  answer = pod.web
  source = client.laptop.ip
}

expect "a node without an endpoint drops" {
  proves  = ["articles.27", "articles.38", "articles.41"]
  from    = client.laptop
  to      = "${node.node2.ip}:31380"
  outcome = "timeout"
}

expect "the external policy does not affect the cluster IP" {
  proves = ["articles.79"]
  from   = [pod.shell, pod.web]
  to     = service.web
  answer = pod.web
}

expect "a pod of another node keeps its address at the cluster IP" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell.ip
}
