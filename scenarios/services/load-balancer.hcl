# What you will see: an address that no host has. Outside, it is routed to node3, which
# runs no pod of the service, and kube-proxy there treats it as one more address of the
# service. From inside the cluster, packets to the address never leave the client's
# node: every node translates it. Under external traffic policy Cluster all are
# masqueraded.
#
#   laptop ──▶ underlay ──▶ node3 ──▶ web-0 or web-1, which see node3
#   shell  ──▶ node1 ───────────▶ web-0 or web-1, which see node1
#
# What to try: netlab rules node3, and look for "loadbalancer IP"; set via to two
# nodes.
#
# The proof: "outside clients come through node3" and "a pod does not leave its node
# for the address".

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

# A route of its own wins over what the load balancer announces, also where it only covers
# the address.
client "tunnel" {
  routes = [{ to = "203.0.113.0/24", via = node.node1.ip }]
}

pod "web" {
  for_each = { "0" = node.node1.name, "1" = node.node2.name }
  node     = each.value
  labels   = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
  load_balancer {
    via = [node.node3]
  }
}

expect "outside clients come through node3" {
  proves = ["articles.214"]
  from   = client.laptop
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = node.node3
}

expect "a client's own route leads elsewhere" {
  from   = client.tunnel
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = node.node1
}

expect "a pod does not leave its node for the address" {
  from   = pod.shell
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = node.node1
}

expect "a node, too" {
  from   = node.node2
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
  source = node.node2
}

expect "every node serves its node port" {
  proves = ["articles.214"]
  from   = client.laptop
  to     = [for n in node : "${n.ip}:${service.web.node_port["http"]}"]
  answer = pod.web
}

expect "pods keep their address at the cluster IP" {
  proves = ["articles.214"]
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell.ip
}
