# What you will see: which source address does a policy see for an outside client? That
# depends on where the packet is masqueraded. With traffic policy Cluster the entry
# node replaces the client's address after its own filter has seen the packet: on the
# entry node the policy sees the client, on every other node it sees the entry node.
# The same rule gives different answers on different nodes. With traffic policy Local
# it always sees the client.
#
#   laptop ──▶ node1 (entry, pod here)   policy sees the laptop      allowed
#   laptop ──▶ node2 (entry) ──▶ node1   policy sees node2           denied
#
# What to try: netlab explain scenarios/policies/policy-node-port-source.hcl laptop with
# each of the two node ports, and find the step where the address changes.
#
# The proof: "through the pod's own node" and "through another node".

network {
  mode = "host-gw" # pods share a bridge, whose address is seen below
}

node "node1" {}
node "node2" {}
client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

service "cluster" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

service "local" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30081
  }
  external_traffic_policy = "Local"
}

policy "laptop-only" {
  pod_selector = { app = "web" }
  ingress {
    from {
      ip_block { cidr = "${client.laptop.ip}/32" }
    }
  }
}

expect "through the pod's own node" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.web
  source = cidrhost(node.node1.pod_cidr, 1)
}

expect "through another node" {
  from    = client.laptop
  to      = "${node.node2.ip}:30080"
  outcome = "timeout"
}

expect "traffic policy Local keeps the address" {
  from   = client.laptop
  to     = "${node.node1.ip}:30081"
  answer = pod.web
  source = client.laptop.ip
}
