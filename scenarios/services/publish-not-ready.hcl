# What you will see: publishNotReadyAddresses. Peers of a clustered application must
# find each other before they are ready, so every pod is published as if it were ready,
# even one that is terminating.
#
#   shell ──▶ cluster IP of peers ──▶ starting, stopping
#   shell ──▶ cluster IP of ready ──▶ refused: none of the same pods is ready
#
# What to try: netlab rules node1, with and without the attribute.
#
# The proof: "all are published" and "without it no pod is published".

node "node1" {}
node "node2" {}

pod "starting" {
  node   = node.node1
  labels = { app = "db" }
  ready  = false
  port "peer" { port = 7000 }
}

pod "stopping" {
  node        = node.node2
  labels      = { app = "db" }
  ready       = false
  terminating = true
  port "peer" { port = 7000 }
}

pod "shell" {
  node = node.node1
}

service "peers" {
  selector                    = { app = "db" }
  publish_not_ready_addresses = true
  port "peer" { port = 7000 }
}

service "names" {
  selector                    = { app = "db" }
  publish_not_ready_addresses = true
  cluster_ip                  = "None"
  port "peer" { port = 7000 }
}

service "ready" {
  selector = { app = "db" }
  port "peer" { port = 7000 }
}

expect "all are published" {
  from   = [pod.shell, node.node2]
  to     = service.peers
  answer = [pod.starting, pod.stopping]
}

expect "in DNS, too" {
  from   = pod.shell
  to     = service.names
  answer = [pod.starting, pod.stopping]
}

expect "without it no pod is published" {
  from    = [pod.shell, node.node2]
  to      = service.ready
  outcome = "refused"
}
