# What you will see: pods that terminate and still serve. They get no new connections
# while a ready endpoint is left; when none is, they step in so that the service does
# not refuse. Under policy Local each node decides this for itself. A terminating pod
# that no longer serves is never used.
#
#   shell  ──▶ cluster IP of web   ──▶ new (node2)   old still serves, but new is ready
#   laptop ──▶ node1:30080 (Local) ──▶ old           the only one on node1
#   shell  ──▶ cluster IP of last  ──▶ last          there is no other
#
# What to try: set terminating of pod "new", and see which expectations fail.
#
# The proof: "on its node it steps in" and "the last one steps in for all".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "old" {
  node        = node.node1
  labels      = { app = "web" }
  terminating = true
  port "http" { port = 8080 }
}

pod "new" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "last" {
  node        = node.node2
  labels      = { app = "last" }
  terminating = true
  port "http" { port = 8080 }
}

pod "gone" {
  node        = node.node1
  labels      = { app = "last", state = "gone" }
  ready       = false
  terminating = true
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "last" {
  selector = { app = "last" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "gone" {
  selector = { state = "gone" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "a ready one is preferred" {
  from   = pod.shell
  to     = service.web
  answer = pod.new
  count  = 20
}

expect "on its node it steps in" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.old
  source = client.laptop.ip
}

expect "the other node uses its ready one" {
  from   = client.laptop
  to     = "${node.node2.ip}:30080"
  answer = pod.new
}

expect "the last one steps in for all" {
  from   = [pod.shell, node.node1, node.node2]
  to     = service.last
  answer = pod.last
  count  = 20
}

expect "a pod that no longer serves is not used" {
  from    = [pod.shell, node.node1]
  to      = service.gone
  outcome = "refused"
}

expect "though it still answers at its own address" {
  from   = pod.shell
  to     = pod.gone
  answer = pod.gone
}
