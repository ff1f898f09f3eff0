# What you will see: a lab with IPv4 and IPv6. Rules are programmed per family, and a
# service exists in a family only if it has a cluster IP in it: by default, in the first
# one.
#
#   shell ──▶ 10.96.x.y    ──▶ web over IPv4
#   shell ──▶ fd00:10:96:: ──▶ web over IPv6, for "both" and "six" only
#
# What to try: netlab rules node1; ip_family_policy = "SingleStack" on "both".
#
# The proof: "both families of one service".

network {
  pod_cidr     = ["10.244.0.0/16", "fd00:10:244::/56"]
  service_cidr = ["10.96.0.0/16", "fd00:10:96::/112"]
  node_cidr    = ["192.168.0.0/24", "fd00:192:168::/64"]
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  count  = 2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "both" {
  type             = "NodePort"
  selector         = { app = "web" }
  ip_family_policy = "RequireDualStack"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "six" {
  selector    = { app = "web" }
  ip_families = ["IPv6"]
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "four" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

expect "both families of one service" {
  from   = pod.shell
  to     = ["${service.both.cluster_ips[0]}:80", "[${service.both.cluster_ips[1]}]:80"]
  answer = pod.web
  source = pod.shell
}

expect "IPv6 alone" {
  from   = [pod.shell, node.node2]
  to     = "[${service.six.cluster_ip}]:80"
  answer = pod.web
}

expect "the first family by default" {
  from   = pod.shell
  to     = service.four
  answer = pod.web
  source = pod.shell.ips[0]
}

expect "node ports in both families" {
  from   = client.laptop
  to     = ["${node.node1.ips[0]}:30080", "[${node.node1.ips[1]}]:30080"]
  answer = pod.web
  source = node.node1
}

expect "an IPv4 service has no node port in IPv6" {
  from    = client.laptop
  to      = "[${node.node1.ips[1]}]:30081"
  outcome = "refused"
}

expect "hop limits decrease as TTLs do" {
  from = pod.shell
  to   = ["${pod.web[1].ips[0]}:8080", "[${pod.web[1].ips[1]}]:8080"]
  ttl  = 62
}
