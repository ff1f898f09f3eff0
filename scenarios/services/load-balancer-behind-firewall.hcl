# What you will see: the load balancer of load-balancer-checks.hcl over IPv4 and IPv6, with a router
# between it and the nodes. Each family has an address, endpoints and checks of its own. The
# router drops what the balancer sends to the node port of node2 over IPv4: over IPv4 the balancer
# leaves node2 out, over IPv6 it does not, and nobody who connects to it loses a connection. The
# check goes where the connections go, so what is in the way of one is in the way of the other.
#
#                                    ┌─▶ node1:30080           ──▶ web-0
#   laptop ──▶ balancer:80 ──▶ edge ─┤
#                                    └─✗ node2:30080 over IPv4     web-1
#
# What to try: netlab status; netlab up --fault "node1 is closed" on this file, and status again, then
# netlab up without the fault; set external_traffic_policy = "Cluster", or remove the check, and see
# which claims fail.
#
# The proof: "over IPv4 the firewall is in the way of the check", "over IPv6 it is not", and below
# the fault how one family has no node left.

network {
  pod_cidr     = ["10.244.0.0/16", "fd00:10:244::/56"]
  service_cidr = ["10.96.0.0/16", "fd00:10:96::/112"]
  node_cidr    = ["192.168.0.0/24", "fd00:192:168::/64"]
}

subnet "outside" {}

router "edge" {
  link "in" {}
  link "out" { subnet = subnet.outside }

  drop {
    protocol = "tcp"
    port     = 30080
    from     = client.balancer
    to       = "${node.node2.ips[0]}/32"
  }
}

node "node1" {}
node "node2" {}

client "balancer" { subnet = subnet.outside }
client "laptop" { subnet = subnet.outside }

pod "web" {
  count  = 2
  node   = [node.node1, node.node2][count.index]
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  ip_family_policy        = "RequireDualStack"
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
  load_balancer {
    on = client.balancer
    check {
      interval            = "200ms"
      timeout             = "150ms"
      healthy_threshold   = 2
      unhealthy_threshold = 2
    }
  }
}

expect "over IPv4 the firewall is in the way of the check" {
  from   = client.laptop
  to     = "${service.web.load_balancer_ips[0]}:80"
  answer = pod.web[0]
  source = client.balancer.ip
}

expect "over IPv6 it is not" {
  from   = client.laptop
  to     = "[${service.web.load_balancer_ips[1]}]:80"
  answer = pod.web
  source = client.balancer.ips[1]
}

# A node that does not forward answers at no node port: over IPv4 none is left.
fault "node1 is closed" {
  kind = "closed-forward"
  node = node.node1

  expect "over IPv4 the balancer closes the connection" {
    from    = client.laptop
    to      = "${service.web.load_balancer_ips[0]}:80"
    outcome = "reset"
  }

  expect "over IPv6 node2 has all" {
    from   = client.laptop
    to     = "[${service.web.load_balancer_ips[1]}]:80"
    answer = pod.web[1]
  }
}
