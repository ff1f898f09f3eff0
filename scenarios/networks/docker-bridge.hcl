# What you will see: Docker's network, from before Kubernetes. Every node has the same bridge, docker0
# at 172.17.0.1/16, and numbers its own containers from 172.17.0.2 on, so that web on node1 and db on
# node2 have the same address. On a node containers reach each other; what leaves it has the node's
# address; what comes in comes by a published port (host_port, docker run -p 8080:80). Of the Kubernetes
# network model rules 1 and 3 fail across nodes: shell dials db's address and reaches web.
#
#     laptop ──▶ 192.168.0.11:8080 ── DNAT ──▶ 172.17.0.2:80 web    shell 172.17.0.3
#                          node1 docker0 172.17.0.1 ──┴────────────────┘
#                          node2 docker0 172.17.0.1 ──┬────────────────┐
#     laptop ──▶ 192.168.0.12:5432 ── DNAT ──▶ 172.17.0.2:5432 db   cache 172.17.0.3
#
# What to try: netlab explain shell 192.168.0.12:5432, each step with Docker's rule for it;
# netlab explain shell db:5432, which never leaves node1; netlab exec node1 -- iptables -t nat -S.
#
# The proof: "what db's address means on node1" next to "by the port of db's node", and "the
# Kubernetes network model".

network {
  mode = "bridge"
}

node "node1" {}
node "node2" {}

client "laptop" {
  port "http" { port = 80 }
}

client "insider" {
  routes = [{ to = "172.17.0.0/16", via = node.node1.ip }]
}

pod "web" {
  node = node.node1
  port "http" {
    port      = 80
    host_port = 8080
  }
  port "metrics" { port = 9100 }
}

pod "shell" {
  node = node.node1
  port "http" { port = 80 }
}

pod "db" {
  node = node.node2
  port "sql" {
    port      = 5432
    host_port = 5432
  }
  port "events" {
    port      = 5514
    host_port = 514
    protocol  = "udp"
  }
}

pod "cache" {
  node = node.node2
  port "http" { port = 80 }
}

pod "queue" {
  node = node.node2
  port "http" { port = 80 }
}

expect "containers of one node keep their addresses" {
  from   = [pod.web, pod.shell]
  to     = [pod.web, pod.shell]
  port   = "http"
  source = each.from.ip
}

expect "the same bridge on each node" {
  proves = ["articles.112", "articles.162"]
  dynamic "interface" {
    for_each = [node.node1, node.node2]
    content {
      on      = interface.value
      name    = "docker0"
      type    = "bridge"
      address = "172.17.0.1/16"
    }
  }
  dynamic "interface" {
    for_each = [pod.web, pod.db]
    content {
      on      = interface.value
      address = "172.17.0.2/16"
    }
  }
}

expect "a container has devices and routes of its own" {
  proves = ["articles.118"]
  interface {
    on     = pod.web
    name   = "docker0"
    absent = true
  }
  route {
    on  = pod.web
    to  = "default"
    via = "172.17.0.1"
    dev = "eth0"
  }
  route {
    on     = node.node1
    to     = "default"
    via    = "172.17.0.1"
    absent = true
  }
}

expect "and sockets" {
  proves = ["articles.118", "articles.139"]
  from   = pod.web
  to     = ["127.0.0.1:80", "127.0.0.1:9100"]
  answer = pod.web
}

expect "which are nowhere else" {
  proves  = ["articles.118"]
  from    = [pod.shell, node.node1]
  to      = "127.0.0.1:9100"
  outcome = "refused"
}

expect "what db's address means on node1" {
  proves = ["articles.112", "articles.136"]
  from   = pod.shell
  to     = "${pod.db.ip}:80"
  answer = pod.web
}

expect "and for the container that has it, too" {
  from   = pod.web
  to     = "${pod.db.ip}:80"
  answer = pod.web
}

expect "queue's address is nobody's on node1" {
  from    = [pod.web, pod.shell, node.node1]
  to      = pod.queue
  outcome = "timeout"
}

expect "by the port of db's node" {
  proves = ["articles.114", "articles.136"]
  from   = [pod.web, pod.shell, node.node1]
  to     = "${node.node2.ip}:5432"
  answer = pod.db
  source = node.node1.ip
}

expect "and by udp" {
  from     = pod.shell
  to       = "${node.node2.ip}:514"
  protocol = "udp"
  answer   = pod.db
  source   = node.node1.ip
}

expect "from outside a published port shows the client" {
  proves = ["articles.114"]
  from   = client.laptop
  to     = ["${node.node1.ip}:8080", "${node.node2.ip}:5432"]
  source = client.laptop
}

expect "a port that is not published" {
  from    = client.laptop
  to      = ["${node.node1.ip}:9100", "${node.node2.ip}:8080"]
  outcome = "refused"
}

expect "answers on its node" {
  from   = [pod.shell, node.node1]
  to     = pod.web
  port   = "metrics"
  answer = pod.web
}

expect "containers leave with their node's address" {
  proves = ["articles.113"]
  from   = [pod.web, pod.db]
  to     = client.laptop
  port   = "http"
  source = node[each.from.node].ip
}

expect "nobody can tell them from their node" {
  proves = ["articles.115"]
  from   = [pod.web, pod.shell, node.node1]
  to     = client.laptop
  port   = "http"
  source = node.node1.ip
}

expect "a rule for the way out, and one for each published port" {
  proves = ["articles.113", "articles.114", "articles.131", "articles.233"]
  rules {
    on    = node.node1
    table = "nat"
    chain = "POSTROUTING"
    has   = "-s 172.17.0.0/16 ! -o docker0 -j MASQUERADE"
    count = 1
  }
  rules {
    on     = node.node1
    table  = "nat"
    chain  = "DOCKER"
    equals = <<-EOT
      -A DOCKER -p tcp -m tcp --dport 8080 -j DNAT --to-destination 172.17.0.2:80
    EOT
  }
}

expect "by one rule for all that does not stay on the bridge" {
  proves = ["articles.116", "articles.131", "articles.132"]
  from   = pod.web
  to     = client.laptop
  port   = "http"
  source = node.node1.ip
  rules {
    on      = node.node1
    table   = "nat"
    chain   = "POSTROUTING"
    has     = "-s 172.17.0.0/16 ! -o docker0 -j MASQUERADE"
    counted = 1
  }
  seen { # into the container's end of its veth, and out of the bridge's
    on          = pod.web
    direction   = "out"
    source      = pod.web
    destination = "${client.laptop.ip}:80"
  }
  seen {
    on          = node.node1
    interface   = "docker0"
    direction   = "in"
    source      = pod.web
    destination = "${client.laptop.ip}:80"
  }
  seen {
    on          = node.node1
    direction   = "out"
    source      = node.node1.ip
    destination = "${client.laptop.ip}:80"
  }
}

expect "from the node itself, by every address of it" {
  from   = node.node1
  to     = ["${node.node1.ip}:8080", "172.17.0.1:8080", "127.0.0.1:8080"]
  answer = pod.web
  source = "172.17.0.1"
}

expect "a neighbour keeps its address at the node's port" {
  from   = pod.shell
  to     = ["${node.node1.ip}:8080", "172.17.0.1:8080"]
  answer = pod.web
  source = pod.shell
}

expect "the container itself does not: hairpin" {
  from   = pod.web
  to     = ["${node.node1.ip}:8080", "172.17.0.1:8080"]
  answer = pod.web
  source = "172.17.0.1"
}

expect "with a route to docker0, published ports only" {
  from   = client.insider
  to     = "${pod.web.ip}:80"
  answer = pod.web
  source = client.insider
}

expect "the others are dropped by FORWARD" {
  from    = client.insider
  to      = ["${pod.web.ip}:9100", "${pod.shell.ip}:80"]
  outcome = "timeout"
}

expect "the Kubernetes network model" {
  model = "kubernetes"
  fails = ["rule 1 across nodes", "rule 3 across nodes"]
}
