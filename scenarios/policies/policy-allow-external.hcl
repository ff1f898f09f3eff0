# What you will see: how does one open a pod to the internet in a namespace that is
# closed by default? With a rule without from: any peer, in the cluster or not. A rule
# with an empty namespace_selector would admit all pods, and still no host outside.
#
#   laptop ──▶ node1:30080 ──▶ web        laptop ── ✗ ──▶ api
#
# What to try: give "web-allow-external" a from block with namespace_selector = {}, and
# see the laptop kept out.
#
# The proof: "the world gets to the web" and "but to nothing else".

node "node1" {}
node "node2" {}
client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "api" {
  node   = node.node1
  labels = { app = "api" }
  port "http" { port = 80 }
}

pod "shell" { node = node.node2 }

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
  external_traffic_policy = "Local"
}

service "api" {
  type     = "NodePort"
  selector = { app = "api" }
  port "http" {
    port      = 80
    node_port = 30081
  }
  external_traffic_policy = "Local"
}

policy "default-deny" {
  policy_types = ["Ingress"]
}

policy "web-allow-external" {
  pod_selector = { app = "web" }
  ingress {}
}

policy "api-allow-cluster" {
  pod_selector = { app = "api" }
  ingress {
    from { namespace_selector = {} }
  }
}

expect "the world gets to the web" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = client.laptop.ip
}

expect "but to nothing else" {
  from    = client.laptop
  to      = "${node.node1.ip}:30081"
  outcome = "timeout"
}

expect "pods get to both" {
  from = pod.shell
  to   = [pod.web, pod.api]
}
