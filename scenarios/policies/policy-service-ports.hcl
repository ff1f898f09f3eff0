# What you will see: does a policy see the service's address and port? No: the node has
# replaced both by those of a pod before its filter looks. A rule must name the target
# port; one that names the service's port opens nothing.
#
#   shell ──▶ service:80 ──▶ DNAT ──▶ web:8080     judged as web:8080
#
# What to try: change port = 8080 in the policy to 80, and netlab up again.
#
# The proof: "the rule names the target port" and "the rule names the service's port".

node "node1" {}
node "node2" {}

pod "right" {
  node   = node.node1
  labels = { app = "right" }
  port "http" { port = 8080 }
}

pod "wrong" {
  node   = node.node1
  labels = { app = "wrong" }
  port "http" { port = 8080 }
}

pod "shell" { node = node.node2 }
pod "near" { node = node.node1 }

service "right" {
  selector = { app = "right" }
  port "http" {
    port        = 80
    target_port = 8080
  }
}

service "wrong" {
  selector = { app = "wrong" }
  port "http" {
    port        = 80
    target_port = 8080
  }
}

policy "target-port" {
  pod_selector = { app = "right" }
  ingress {
    port { port = 8080 }
  }
}

policy "service-port" {
  pod_selector = { app = "wrong" }
  ingress {
    port { port = 80 }
  }
}

expect "the rule names the target port" {
  from   = [pod.shell, pod.near]
  to     = service.right
  answer = pod.right
}

expect "the rule names the service's port" {
  from    = [pod.shell, pod.near]
  to      = service.wrong
  outcome = "timeout"
}
