# What you will see: a wide area network. Two branches hang on routers of their own, whose
# links have the delay and the loss of the distance; another client is behind a chain of
# routers. Every router on the way takes one off the TTL. A link block of a router shapes what
# the router sends on it. Needs the kernel's netem; where that is missing: netlab vm test.
#
#   subnet default
#   n1 (web) ──┬── r-0 ── hop-0 ── r-1 ── hop-1   remote
#              ├── to-paris ── 30 ms ── paris     cafe
#              └── to-tokyo ── 120 ms ± 10 ms, 1 % loss ── tokyo     shop
#
# What to try: netlab exec shop -- ping -c 3 192.168.0.11; netlab exec remote -- traceroute -n
# 192.168.0.11; netlab explain client.remote node.n1:30080.
#
# The proof: "two routers on the way", "Tokyo is far".

network { mode = "host-gw" }

subnet "hop" {
  count = 2
}

router "r" {
  count = 2
  link "up" { subnet = concat([subnet.default], subnet.hop)[count.index] }
  link "down" { subnet = subnet.hop[count.index] }
}

locals {
  branches = {
    paris = { cidr = "172.16.1.0/24", delay = "30ms", jitter = "0ms", loss = "0%" }
    tokyo = { cidr = "172.16.2.0/24", delay = "120ms", jitter = "10ms", loss = "1%" }
  }
}

subnet "branch" {
  for_each = local.branches
  name     = each.key
  cidr     = each.value.cidr
}

router "branch" {
  for_each = local.branches
  name     = "to-${each.key}"
  link "lan" {}
  link "wan" {
    subnet = subnet.branch[each.key]
    delay  = each.value.delay
    jitter = each.value.jitter
    loss   = each.value.loss
  }
}

node "n1" {}

client "remote" {
  subnet = subnet.hop[1]
}
client "cafe" {
  subnet = subnet.branch["paris"]
}
client "shop" {
  subnet = subnet.branch["tokyo"]
}

pod "web" {
  node   = node.n1
  labels = { app = "web" }
  port "http" { port = 80 }
}

service "web" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "two routers on the way" {
  from   = client.remote
  to     = addr(node.n1.ip, 30080)
  source = client.remote
  ttl    = 61
}

expect "Paris is not near" {
  from   = client.cafe
  to     = addr(node.n1.ip, 30080)
  within = "10s"
  latency { min = "30ms" }
}

expect "Tokyo is far" {
  from   = client.shop
  to     = addr(node.n1.ip, 30080)
  within = "10s"
  latency { min = "110ms" }
}
