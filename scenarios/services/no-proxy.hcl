# What you will see: what is left of services without kube-proxy. They have addresses,
# but no node translates them: a packet to a cluster IP leaves by the default route and
# is lost, and node ports are ports on which no process listens. Pods reach each other
# as before, since the pod network does not depend on the proxy.
#
#   shell ──▶ cluster IP of web ──▶ the underlay ──▶ lost
#   shell ──▶ web-0 ──▶ answer
#
# What to try: netlab plan scenarios/services/no-proxy.hcl, where no node has a chain
# KUBE-SERVICES; set mode = "iptables" and netlab up again, which adds the chains and
# nothing else.
#
# The proof: "a cluster IP leads nowhere", next to "the pod itself answers".

network {
  mode = "host-gw"
}

proxy {
  mode = "none"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  count  = 2
  node   = [node.node1, node.node2][count.index]
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

pod "locked" {
  node   = node.node2
  labels = { app = "locked" }
  port "http" { port = 8080 }
}

policy "locked" {
  pod_selector = { app = "locked" }
  ingress {
    from { pod_selector = { app = "web" } }
  }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

expect "a cluster IP leads nowhere" {
  from    = pod.shell
  to      = service.web
  outcome = "timeout"
}

expect "a node port is a port without a listener" {
  from    = client.laptop
  to      = "${node.node1.ip}:30080"
  outcome = "refused"
}

expect "the pod itself answers" {
  proves = ["articles.1"]
  from   = pod.shell
  to     = pod.web
  port   = "http"
  source = pod.shell
}

expect "policies are there all the same" {
  proves  = ["articles.92"]
  from    = pod.shell
  to      = pod.locked
  outcome = "timeout"
}

expect "and let in whom they name" {
  proves = ["articles.92"]
  from   = pod.web
  to     = pod.locked
}
