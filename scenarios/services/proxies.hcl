# What you will see: what changes for the users of services when the proxy mode does: one file, all
# four modes, and every difference claimed by name. Kubernetes had them in this order: userspace
# (until 1.25), iptables (the default), ipvs, and nftables (since 1.33 the recommended one).
#
# The checklist from iptables to nftables: node ports no longer answer on 127.0.0.1, nor on
# addresses other than the node's first one; another port of a cluster IP is refused at once, where
# iptables lets the packet go; a load balancer address without endpoints refuses the node's own
# processes, too. Everything else stays: who answers, and which address the server sees.
#
# What to try: netlab test scenarios/services/proxies.hcl, and where two modes part:
# netlab explain -f scenarios/services/proxies.hcl laptop node1:30081 --matrix proxy=iptables,nftables
#
# The proof: "a node port of localhost", "a second address of the node", "another port of the
# cluster IP", "nothing behind the load balancer", and what stays.

matrix { proxy = ["userspace", "iptables", "ipvs", "nftables"] }

network { mode = "vxlan" } # with a bridge, whose address is the node's second one

locals {
  relayed = proxy.mode == "userspace" # the server's peer is the proxy, not the client
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  for_each = { "0" = node.node1.name, "1" = node.node2.name }
  node     = each.value
  labels   = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" { node = node.node1 }

service "web" {
  type       = "NodePort"
  cluster_ip = "10.96.0.80"
  selector   = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "one" {
  type = "NodePort"
  selector = {
    app = "one"
  }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

pod "one" {
  node   = node.node1
  labels = { app = "one" }
  port "http" { port = 8080 }
}

service "nothing" {
  type = "LoadBalancer"
  load_balancer { ip = "203.0.113.10" }
  port "http" { port = 80 }
}

# What stays.

expect "every endpoint answers" {
  proves = ["articles.256"]
  from   = [pod.shell, node.node2]
  to     = service.web
  answer = pod.web
}

expect "a node port answers outside" {
  from   = client.laptop
  to     = "${node.node2.ip}:30080"
  answer = pod.web
}

expect "a pod behind a service sees the pod that dials" {
  from   = pod.shell
  to     = service.one
  answer = pod.one
  source = local.relayed ? cidrhost(node.node1.pod_cidr, 1) : pod.shell.ip
}

# What changes.

expect "a node port of localhost" {
  from    = node.node1
  to      = "127.0.0.1:30080"
  outcome = { userspace = "connected", iptables = "connected", ipvs = "refused", nftables = "refused" }[proxy.mode]
}

expect "a second address of the node" {
  from    = pod.shell
  to      = "10.244.1.1:30080"
  outcome = proxy.mode == "nftables" ? "refused" : "connected"
}

expect "another port of the cluster IP" {
  from    = pod.shell
  to      = "${service.web.cluster_ip}:81"
  outcome = contains(["ipvs", "nftables"], proxy.mode) ? "refused" : "timeout"
}

expect "nothing behind the load balancer" {
  from    = node.node1
  to      = "203.0.113.10:80"
  outcome = { userspace = "reset", iptables = "timeout", ipvs = "refused", nftables = "refused" }[proxy.mode]
}
