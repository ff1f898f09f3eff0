# What you will see: services as they were before kube-proxy had rules for them, in proxy mode
# userspace (until Kubernetes 1.25). Rules only redirect a connection to a program on the node;
# it takes the next endpoint in turn and makes a second connection, from the node.
#
#   shell ──▶ cluster IP:80 ─▶ REDIRECT ─▶ proxy on node1 ══▶ web-0, web-1, web-2, web-0, …
#                                                   └─ sees node1, whoever the client is
#   shell ──▶ cluster IP of half ─▶ proxy ══▶ port 9: refused, ══▶ web-0: answers
#
# Rules cannot try again: in mode iptables every second connection to "half" is refused. But the
# program has two sockets per connection, and moves every byte from one to the other: that is
# why Kubernetes left it. Traffic policies and source ranges mean nothing to it.
#
# What to try: netlab explain shell service/half --matrix proxy=userspace,iptables on this
# file; and netlab rules node1 in a running lab.
#
# The proof: "endpoints take turns" (90 connections, 30 each: chance would hardly ever do that),
# "the server sees the node", "a dead endpoint is replaced by the next", and
# "without an endpoint the connection is reset", which rules would refuse.

proxy {
  mode = "userspace"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  count  = 3
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}

pod "broken" {
  node   = node.node2
  labels = { app = "broken" }
  ready  = false
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
  port "dns" {
    port        = 53
    target_port = "dns"
    protocol    = "udp"
  }
}

service "turns" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "sticky" {
  selector = { app = "web" }
  session_affinity {
    timeout = 600
  }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "half" {
  port "http" { port = 80 }
  endpoint {
    pod  = pod.web[0]
    port = 8080
  }
  endpoint {
    pod  = pod.web[1]
    port = 9
  }
}

service "empty" {
  selector = { app = "broken" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "endpoints take turns" {
  proves = ["articles.189"]
  from   = pod.shell
  to     = service.turns
  answer = pod.web
  count  = 90
  spread { tolerance = 0.01 }
}

expect "the server sees the node" {
  proves = ["articles.222"]
  from   = [pod.shell, node.node1]
  to     = [service.web, "${node.node1.ip}:30080"]
  port   = "http"
  answer = pod.web
  source = node.node1
}

expect "outside clients are not seen either" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = node.node1
}

expect "without a service the pod is seen" {
  proves = ["articles.222"]
  from   = pod.shell
  to     = pod.web
  port   = "http"
  source = pod.shell
}

expect "datagrams are passed on" {
  from     = [pod.shell, node.node1]
  to       = service.web
  port     = "dns"
  protocol = "udp"
  answer   = pod.web
  source   = node.node1
}

expect "a node port answers on localhost" {
  from   = node.node1
  to     = "127.0.0.1:30080"
  answer = pod.web
}

expect "a client stays with its pod" {
  from   = [pod.shell, node.node2]
  to     = service.sticky
  answer = pod.web
  sticky = true
}

expect "a dead endpoint is replaced by the next" {
  from   = [pod.shell, node.node2]
  to     = service.half
  answer = pod.web[0]
  count  = 4
}

expect "the dead endpoint itself refuses" {
  from    = pod.shell
  to      = "${pod.web[1].ip}:9"
  outcome = "refused"
}

expect "without an endpoint the connection is reset" {
  from    = [pod.shell, node.node1]
  to      = service.empty
  outcome = "reset"
}
