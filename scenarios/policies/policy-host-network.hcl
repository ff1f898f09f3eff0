# What you will see: does a policy apply to pods on the host network? No: their traffic
# is the node's. No policy isolates them, no selector matches them as peers, and what
# they send to pods of their own node is always allowed, like the node's own traffic.
#
#   agent (host network, node1) ──▶ web on node1      its own node: allowed
#   agent                       ── ✗ ──▶ db on node2   another node: an address like any other
#
# What to try: admit node1 to db by an ip_block with its address on the node network,
# and with the address of its tunnel (netlab inspect).
#
# The proof: "a node reaches its own pods" and "and not those of another node".

network { mode = "host-gw" }

node "node1" {}
node "node2" {}

pod "agent" {
  node         = node.node1
  host_network = true
  labels       = { app = "agent" }
  port "http" { port = 9000 }
}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "db" {
  node   = node.node2
  labels = { app = "db" }
  port "http" { port = 80 }
}

pod "shell" { node = node.node2 }

policy "deny-all" {
  policy_types = ["Ingress"]
}

policy "by-label" {
  pod_selector = { app = "db" }
  ingress {
    from { pod_selector = { app = "agent" } }
    from { pod_selector = { app = "web" } }
  }
}

expect "a policy does not isolate the host network" {
  from   = pod.shell
  to     = "${node.node1.ip}:9000"
  answer = pod.agent
}

expect "a node reaches its own pods" {
  from   = node.node1
  to     = pod.web
  answer = pod.web
}

expect "and not those of another node" {
  from    = node.node1
  to      = pod.db
  outcome = "timeout"
}

expect "the label matches a pod with a network of its own" {
  from   = pod.web
  to     = pod.db
  answer = pod.db
}
