# What you will see: four things that articles about Kubernetes get wrong, and how the packets
# have it. A capture at eth0 shows a node port before any rule has seen the packet: it stands
# before PREROUTING on the way in, and after POSTROUTING on the way out. The table nat comes
# before filter, not after it: a policy sees the pod that was chosen, never the service's
# address. FORWARD needs no ip_forward where packets are bridged. And iptables does not take
# turns: it draws lots for each connection.
#
#   laptop > node1:31380 ──▶ [capture] ──▶ PREROUTING: nat ──▶ FORWARD: filter ──▶ pod:8080
#                                            chooses the pod     sees the pod
#
# What to try: netlab explain laptop node1:31380; netlab up --fault "no ip_forward" on this file, then
# netlab explain neighbour web:8080.
#
# The proof: "a capture stands before PREROUTING", "filter sees what nat chose", "bridged
# packets meet FORWARD without ip_forward" and "lots, not turns".

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

client "laptop" {
  port "http" { port = 80 }
}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "more" {
  count  = 2
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "neighbour" { node = node.node1 }

pod "closed" {
  node   = node.node1
  labels = { app = "closed" }
}

service "one" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31380
  }
}

# Only pods, by their addresses: no address of a service is among them.
policy "only-pods" {
  pod_selector = { app = "closed" }
  policy_types = ["Egress"]
  egress {
    to {
      ip_block { cidr = "10.244.0.0/16" }
    }
  }
}

expect "a capture stands before PREROUTING" {
  proves = ["articles.135", "articles.197"]
  from   = client.laptop
  to     = "${node.node1.ip}:31380"
  answer = pod.web
  seen {
    on          = node.node1
    direction   = "in"
    source      = client.laptop
    destination = "${node.node1.ip}:31380" # the pod was not chosen yet
  }
  seen {
    on          = node.node1
    direction   = "out"
    source      = "${node.node1.ip}:31380" # and is hidden again
    destination = client.laptop
  }
  seen {
    on          = pod.web
    direction   = "in"
    source      = client.laptop
    destination = "${pod.web.ip}:8080"
  }
  # The first packet is for the node port still, when PREROUTING has it, and the pod is chosen there.
  dynamic "rules" {
    for_each = { PREROUTING = "-j KUBE-SERVICES", KUBE-NODEPORTS = "--dport 31380" }
    content {
      on      = node.node1
      table   = "nat"
      chain   = rules.key
      has     = rules.value
      counted = 1
    }
  }
  rules {
    on      = node.node1
    table   = "nat"
    has     = "-j DNAT"
    counted = 1
  }
}

expect "filter sees what nat chose" {
  from   = pod.closed
  to     = service.one
  answer = [pod.web, pod.more[0], pod.more[1]]
}

expect "and drops the rest" {
  from    = pod.closed
  to      = client.laptop
  outcome = "timeout"
}

expect "the rest is there" {
  from = pod.neighbour
  to   = client.laptop
}

expect "lots, not turns" {
  proves = ["articles.189", "articles.220"]
  from   = pod.neighbour
  to     = service.one
  answer = [pod.web, pod.more[0], pod.more[1]]
  spread { tolerance = 0.5 }
  rules {
    on    = node.node1
    table = "nat"
    has   = "-m statistic --mode random"
    count = 2
  }
  rules {
    on    = node.node1
    table = "nat"
    lacks = "-m statistic --mode nth"
  }
}

fault "no ip_forward" {
  kind = "forwarding-off"
  node = node.node1

  expect "bridged packets meet FORWARD without ip_forward" {
    proves   = ["articles.58"]
    from     = pod.neighbour
    to       = pod.web
    port     = "echo"
    protocol = "udp"
    rules {
      on      = node.node1
      table   = "filter"
      chain   = "FORWARD"
      has     = "-j KUBE-FORWARD"
      counted = 2
    }
  }

  expect "routed packets do not get that far" {
    proves  = ["articles.58"]
    from    = pod.neighbour
    to      = client.laptop
    outcome = "timeout"
  }
}
