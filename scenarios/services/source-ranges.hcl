# What you will see: loadBalancerSourceRanges. Only the friend may use the load balancer
# address; all other traffic, from pods too, is dropped. The ranges apply to that
# address only: node ports and the cluster IP stay open to all.
#
#   friend   ──▶ VIP ──▶ web
#   stranger ──▶ VIP ──▶ dropped        stranger ──▶ node port ──▶ web
#   shell    ──▶ VIP ──▶ dropped        shell    ──▶ cluster IP ──▶ web
#
# What to try: add network.pod_cidr to the ranges; add "0.0.0.0/0", which lifts them.
#
# The proof: "the stranger is dropped" and "pods are filtered, too".

node "node1" {}
node "node2" {}

client "friend" {}
client "stranger" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
}

service "web" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
  load_balancer_source_ranges = ["${client.friend.ip}/32"]
}

service "open" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
  load_balancer_source_ranges = ["${client.friend.ip}/32", "0.0.0.0/0"]
}

expect "the friend is served" {
  from   = client.friend
  to     = "${service.web.load_balancer_ip}:80"
  answer = pod.web
}

expect "the stranger is dropped" {
  from    = client.stranger
  to      = "${service.web.load_balancer_ip}:80"
  outcome = "timeout"
}

expect "pods are filtered, too" {
  from    = pod.shell
  to      = "${service.web.load_balancer_ip}:80"
  outcome = "timeout"
}

expect "node ports are open to all" {
  from   = client.stranger
  to     = [for n in node : "${n.ip}:30080"]
  answer = pod.web
}

expect "so is the cluster IP" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
}

expect "a range of all addresses lifts the restriction" {
  from   = [client.stranger, pod.shell]
  to     = "${service.open.load_balancer_ip}:80"
  answer = pod.web
}
