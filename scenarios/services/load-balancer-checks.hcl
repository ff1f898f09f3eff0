# What you will see: a load balancer outside of the cluster, as cloud providers have it. It
# knows nothing of pods: it connects to a node port of every node, and a node that does not
# answer gets no connections. That is what makes external traffic policy Local usable: nodes
# without an endpoint drop what comes to the node port, so the balancer leaves them out, and
# the endpoint sees who has connected to its node. Under Cluster every node answers, also those
# without an endpoint, and masquerades.
#
#                             ┌─▶ node1:30080 ──▶ web-0
#   laptop ──▶ balancer:80 ───┼─▶ node2:30080 ──▶ web-1
#                             └─✗ node3:30080     no endpoint: dropped, so left out
#
# What to try: netlab status; netlab exec node1 -- iptables -I FORWARD -p tcp -j DROP, and status
# again two seconds later; set ready = false for web-0 and netlab up; remove a check;
# netlab test --matrix ip_families=ipv6 on this file; load-balancer-behind-firewall.hcl has both families.
#
# The proof: "under Local the balancer leaves out the node without a pod", and "without checks
# a third of the connections is lost".

node "node1" {}
node "node2" {}
node "node3" {}

client "balancer" {}
client "blind" {}
client "laptop" {}

pod "web" {
  for_each = { "0" = node.node1.name, "1" = node.node2.name }
  node     = each.value
  labels   = { app = "web" }
  port "http" { port = 8080 }
}

pod "db" {
  node   = node.node1
  labels = { app = "db" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node3
}

service "local" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
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
      healthy_threshold   = 3
      unhealthy_threshold = 2
    }
  }
}

service "cluster" {
  type     = "LoadBalancer"
  selector = { app = "web" }
  port "http" {
    port        = 81
    target_port = "http"
    node_port   = 30081
  }
  load_balancer {
    on = client.balancer
    check {}
  }
}

service "unchecked" {
  type                    = "LoadBalancer"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30082
  }
  load_balancer {
    on = client.blind
  }
}

policy "db" {
  pod_selector { match_labels = { app = "db" } }
  ingress {
    from {
      pod_selector {}
    }
  }
}

service "db" {
  type                    = "LoadBalancer"
  selector                = { app = "db" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 82
    target_port = "http"
  }
  load_balancer {
    on = client.balancer
    check {}
  }
}

expect "a node without a pod drops what comes to its node port" {
  from    = client.laptop
  to      = addr(node.node3.ip, 30080)
  outcome = "timeout"
}

expect "under Local the balancer leaves out the node without a pod" {
  proves = ["articles.219"]
  from   = client.laptop
  to     = addr(service.local.load_balancer_ip, 80)
  answer = pod.web
  source = client.balancer.ip
  spread { tolerance = 0.3 }
}

expect "under Cluster every node answers, and masquerades" {
  proves = ["articles.219"]
  from   = client.laptop
  to     = addr(service.cluster.load_balancer_ip, 81)
  answer = pod.web
  source = [node.node1, node.node2, node.node3]
}

expect "a pod reaches the balancer as any client does" {
  from   = pod.shell
  to     = [addr(service.local.load_balancer_ip, 80), addr(service.cluster.load_balancer_ip, 81)]
  answer = pod.web
}

expect "without checks a third of the connections is lost" {
  proves  = ["articles.219"]
  from    = client.laptop
  to      = addr(service.unchecked.load_balancer_ip, 80)
  outcome = { connected = 2, timeout = 1 }
}

expect "a policy denies the balancer, so no node answers, and it closes the connection" {
  from    = client.laptop
  to      = addr(service.db.load_balancer_ip, 82)
  outcome = "reset"
}

expect "pods are allowed" {
  from   = pod.shell
  to     = service.db
  answer = pod.db
}

fault "node1 forwards nothing" {
  kind = "closed-forward"
  node = node.node1

  expect "the balancer sends all to node2" {
    from   = client.laptop
    to     = addr(service.local.load_balancer_ip, 80)
    answer = pod.web["1"]
    source = client.balancer.ip
  }
}
