# What you will see: a load balancer that is itself the destination of packets (ipMode
# Proxy), because it terminates TLS or speaks the PROXY protocol. Nodes must not
# intercept its address, so there are no rules for it and a pod's packet leaves the
# cluster. With ipMode VIP the nodes intercept the address, even though another host
# has it.
#
#   shell ──▶ address of balancer ──▶ balancer       ip_mode = "Proxy"
#   shell ──▶ address of shadowed ──▶ web            ip_mode = "VIP"
#
# What to try: swap the modes.
#
# The proof: "the balancer itself answers" and "a VIP hides the host".

node "node1" {}
node "node2" {}

client "balancer" {
  port "http" { port = 80 }
}

client "shadowed" {
  port "http" { port = 80 }
}

client "laptop" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "proxied" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
  load_balancer {
    ip      = client.balancer.ip
    ip_mode = "Proxy"
  }
}

service "vip" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
  load_balancer {
    ip      = client.shadowed.ip
    ip_mode = "VIP"
  }
}

expect "the balancer itself answers" {
  from   = [pod.shell, node.node1]
  to     = "${service.proxied.load_balancer_ip}:80"
  answer = client.balancer
  source = node.node1
}

expect "a VIP hides the host" {
  from   = [pod.shell, node.node1]
  to     = "${service.vip.load_balancer_ip}:80"
  answer = pod.web
}

expect "node port and cluster IP work in either mode" {
  from   = pod.shell
  to     = [service.proxied, service.vip, "${node.node2.ip}:30080"]
  answer = pod.web
}

expect "the node port works for outside clients" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = node.node1
}
