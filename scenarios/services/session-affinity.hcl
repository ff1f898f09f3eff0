# What you will see: a client that stays with its pod. With session affinity ClientIP a
# node remembers, per service port, which pod it chose for a client's address, and for
# how long; each new connection renews it. Nodes do not share what they remember.
#
#   laptop ──▶ node1:30080 ──▶ web-1, web-1, web-1, …
#   laptop ──▶ node1:30081 ──▶ web-0, web-2, web-1, …    without affinity
#
# What to try: netlab exec node1 -- sh -c 'cat /proc/net/xt_recent/*'.
#
# The proof: "a client from outside stays with one pod"; "without affinity all answer"
# is the control.

node "node1" {}
node "node2" {}

client "laptop" {}
client "phone" {}

pod "web" {
  count  = 3
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "sticky" {
  type     = "NodePort"
  selector = { app = "web" }
  session_affinity {
    timeout = 600
  }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "fair" {
  type             = "NodePort"
  selector         = { app = "web" }
  session_affinity = "None"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

expect "a client from outside stays with one pod" {
  from   = [client.laptop, client.phone]
  to     = [for n in node : "${n.ip}:30080"]
  answer = pod.web
  sticky = true
}

expect "a pod stays with one pod" {
  from   = pod.shell
  to     = service.sticky
  answer = pod.web
  sticky = true
}

expect "a node stays with one pod" {
  from   = node.node2
  to     = service.sticky
  answer = pod.web
  sticky = true
}

expect "without affinity all answer" {
  from   = [pod.shell, node.node2]
  to     = service.fair
  answer = pod.web
}

expect "without affinity all answer at the node port" {
  from   = client.laptop
  to     = "${node.node1.ip}:30081"
  answer = pod.web
}
