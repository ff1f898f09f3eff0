# What you will see: the states that an endpoint can be in, written out by hand, as a
# controller of one's own would write them: on a node although it is no pod, for one
# port only, serving although it is terminating, and hinted at the nodes that should use
# it.
#
#   db     ──▶ a host outside, which counts as local to node1
#   mixed  ──▶ http: a, admin: b          drain ──▶ a, which terminates but still serves
#   nearby ──▶ node1 uses a, node2 uses b
#
# What to try: serving = false on drain, and it is refused; netlab reach on this file.
#
# The proof: an expectation per line above.

proxy {
  node_port_range = "30100-30199"
}

node "node1" {}
node "node2" {}

client "laptop" {}

client "database" {
  port "sql" {
    port     = 5432
    protocol = "tcp"
  }
}

pod "a" {
  node = node.node1
  port "http" { port = 80 }
}

pod "b" {
  node = node.node2
  port "http" { port = 80 }
}

pod "shell1" { node = node.node1 }
pod "shell2" { node = node.node2 }

service "db" {
  type = "NodePort"
  port "sql" {
    port      = 5432
    node_port = 30180
  }
  internal_traffic_policy = "Local"
  endpoint {
    address = client.database.ip
    node    = node.node1
  }
}

service "mixed" {
  port "http" {
    port        = 80
    target_port = 80
  }
  port "admin" {
    port        = 8080
    target_port = 80
  }
  endpoint {
    pod       = pod.a
    port_name = "http"
  }
  endpoint {
    pod       = pod.b
    port_name = "admin"
  }
}

service "drain" {
  port "http" { port = 80 }
  endpoint {
    pod         = pod.a
    serving     = true
    terminating = true
  }
  endpoint {
    pod         = pod.b
    serving     = false
    terminating = true
  }
}

service "nearby" {
  traffic_distribution = "PreferSameNode"
  port "http" { port = 80 }
  endpoint {
    pod = pod.a
    hints { nodes = [node.node1] }
  }
  endpoint {
    pod = pod.b
    hints { nodes = [node.node2] }
  }
}

expect "an address counts as local to the node that it names" {
  from   = pod.shell1
  to     = service.db
  answer = client.database
}

expect "and to no other" {
  from    = pod.shell2
  to      = service.db
  outcome = "timeout"
}

expect "a node port in a range of the file's own" {
  proves = ["articles.21"]
  from   = client.laptop
  to     = "${node.node2.ip}:30180"
  answer = client.database
  source = node.node2
}

expect "one endpoint serves one port" {
  from   = pod.shell1
  to     = "${service.mixed.cluster_ip}:80"
  answer = pod.a
}

expect "another one the other" {
  from   = pod.shell1
  to     = "${service.mixed.cluster_ip}:8080"
  answer = pod.b
}

expect "what still serves is used when nothing else is there" {
  from   = pod.shell2
  to     = service.drain
  answer = pod.a
}

expect "hints name the nodes" {
  from   = pod.shell1
  to     = service.nearby
  answer = pod.a
}

expect "each its own" {
  from   = pod.shell2
  to     = service.nearby
  answer = pod.b
}
