# What you will see: a lab in which every address is written out, as in a data centre
# whose addresses are given: of nodes, clients and services, and the part of the pods'
# addresses that each node gets. The tunnels have a number and a port of their own, and
# carry jumbo frames.
#
#   office 172.20.0.50 ──▶ 172.20.0.11 rack1 (10.60.0.0/26) ══ VXLAN 42 ══ rack2 172.20.0.12
#        └──▶ 198.51.100.10, announced by rack2
#
# What to try: netlab exec rack1 -- ip -d link show flannel.42; netlab exec office -- ip
# route; direct_routing = true, and the TTL and the MTU are those of a plain route.
#
# The proof: "pods use the whole MTU", "the office's route wins".

netlab {
  required_version = ">= 0.1"
  name             = "addresses"
  description      = "Every address is written out."
}

network {
  mode               = "vxlan"
  pod_cidr           = "10.60.0.0/22"
  node_prefix        = 26
  service_cidr       = "10.70.0.0/24"
  node_cidr          = "172.20.0.0/24"
  load_balancer_cidr = "198.51.100.0/24"
  mtu                = 9000
  vxlan {
    vni            = 42
    port           = 4789
    direct_routing = false
  }
}

node "rack1" {
  address = "172.20.0.11"
}

node "rack2" {
  address = "172.20.0.12"
  routes  = [{ to = "203.0.113.0/24", via = client.office }]
}

client "office" {
  address = "172.20.0.50"
  gateway = node.rack1
  routes  = [{ to = "198.51.100.0/24", via = node.rack2 }]
}

pod "web" {
  node    = node.rack2
  address = cidrhost(node.rack2.pod_cidr, 7)
  labels  = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.rack1
  link { mtu = 1400 }
}

pod "jumbo" {
  node = node.rack1
}

service "web" {
  type             = "LoadBalancer"
  cluster_ips      = ["10.70.0.80"]
  load_balancer_ip = "198.51.100.10"
  selector { match_labels = { app = "web" } }
  port "http" {
    port        = 80
    target_port = 8080
  }
  external_traffic_policy = "Local"
}

service "spare" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  load_balancer { ips = ["198.51.100.11"] }
  port "http" {
    port        = 80
    target_port = 8080
  }
}

expect "the cluster IP is the one written" {
  from   = pod.shell
  to     = "10.70.0.80:80"
  answer = pod.web
  source = pod.shell
}

expect "the office's route wins" {
  from   = client.office
  to     = "198.51.100.10:80"
  answer = pod.web
  source = "172.20.0.50"
}

expect "a load balancer with its address in a block" {
  from   = client.office
  to     = "198.51.100.11:80"
  answer = pod.web
}

expect "pods use the whole MTU" {
  from = pod.jumbo
  to   = pod.web
  mtu  = 8950
}

expect "but for one whose link is narrower" {
  from = pod.shell
  to   = pod.web
  mtu  = 1400
}
