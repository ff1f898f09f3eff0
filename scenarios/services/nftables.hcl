# What you will see: services as kube-proxy's mode nftables serves them. One lookup in a
# map leads from an address and a port to the chain of the service, however many services
# there are; that chain has a map of its own, from a random number to the chain of an endpoint.
# Whoever comes from mode iptables finds three things changed: node ports answer on the
# first address of a node only, and never on 127.0.0.1; another port of a cluster IP is refused
# at once; the node's own processes are refused, too, where a load balancer address has no
# endpoints.
#
#   laptop ──▶ node1:30080 ──@service-nodeports──▶ external-… ──▶ service-… ──▶ endpoint-…
#   shell ──▶ 10.96.0.80:80 ──@service-ips────────────────────────▶ service-… ──▶ endpoint-…
#
# What to try: netlab exec node1 -- nft list ruleset; netlab explain laptop node1:30080; the
# same with --matrix proxy=iptables,nftables
#
# The proof: "the service answers", "a client stays with its endpoint", and what changed:
# "node ports: the first address only", "not on localhost", "no other port", "nothing behind the
# load balancer".

proxy { mode = "nftables" }
network { mode = "vxlan" } # with a bridge, whose address is another one of the node

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

service "sticky" {
  selector = { app = "web" }
  session_affinity { timeout = 600 }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "local" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

service "nothing" {
  type = "LoadBalancer"
  load_balancer { ip = "203.0.113.10" }
  port "http" { port = 80 }
}

expect "the service answers" {
  from   = [pod.shell, node.node2]
  to     = service.web
  answer = pod.web
}

expect "a pod keeps its address" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell
}

expect "a client stays with its endpoint" {
  from   = pod.shell
  to     = service.sticky
  answer = pod.web
  sticky = true
}

expect "node ports" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
}

expect "policy Local keeps the client's address" {
  from   = client.laptop
  to     = "${node.node1.ip}:30081"
  answer = pod.web["0"]
  source = client.laptop
}

expect "node ports: the first address only" {
  from    = pod.shell
  to      = "10.244.1.1:30080"
  outcome = "refused"
}

expect "not on localhost" {
  from    = node.node1
  to      = "127.0.0.1:30080"
  outcome = "refused"
}

expect "no other port" {
  from    = pod.shell
  to      = "10.96.0.80:81"
  outcome = "refused"
}

expect "nothing behind the load balancer" {
  from    = [pod.shell, node.node1]
  to      = "203.0.113.10:80"
  outcome = "refused"
}
