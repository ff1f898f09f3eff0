# What you will see: kube-proxy's --masquerade-all. All traffic to a cluster IP takes
# the address of the node, including that of pods, which otherwise keep theirs.
#
#   shell ──▶ cluster IP ──▶ web, which sees a node and not the shell
#
# What to try: remove masquerade_all; "a pod loses its address" fails.
#
# The proof: "a pod loses its address".

proxy {
  masquerade_all = true
}

node "node1" {}
node "node2" {}

pod "web" {
  count  = 2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "a pod loses its address" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = node.node1
}

expect "without the service it keeps it" {
  from   = pod.shell
  to     = pod.web
  source = pod.shell.ip
}
