# Kubernetes issue 93456: traffic from inside the cluster to a load balancer address with
# externalTrafficPolicy = Local should use the endpoints of all nodes, as in mode iptables.
# In mode ipvs that became true for nodes without endpoints only, and not for processes on
# them (and pods on the host's network) where the endpoint is on the host's network, too,
# as those of an ingress controller are.
#
# What you will see: a process of node2 dials from the load balancer address itself, for
# that is local. Nobody masquerades it: the policy is Local, and the way from node to node
# is not the pod network's. node1 has the same address, takes the packet for a forgery of
# its own (a martian source), and says nothing.
#
#   shell (node2) ──▶ VIP ──▶ ingress (node1, host's network)      works
#   node2         ──▶ VIP ──▶ 203.0.113.10 > 192.168.0.11:8080     dropped by node1
#
# What to try: netlab explain -f scenarios/k8s-93456-ipvs-host-network.hcl node2
# 203.0.113.10:80; external_traffic_policy = "Cluster", or mode = "iptables".
#
# The proof: "a process of a node without endpoints waits in vain".

proxy {
  mode = "ipvs"
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "ingress" {
  node         = node.node1
  host_network = true
  labels       = { app = "ingress" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node2
}

service "ingress" {
  type                    = "LoadBalancer"
  selector                = { app = "ingress" }
  external_traffic_policy = "Local"
  load_balancer {
    ip  = "203.0.113.10"
    via = [node.node1]
  }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "a pod of a node without endpoints gets through" {
  from   = pod.shell
  to     = "203.0.113.10:80"
  answer = pod.ingress
}

expect "a process of a node without endpoints waits in vain" {
  from    = node.node2
  to      = "203.0.113.10:80"
  outcome = "timeout"
}

expect "one on the endpoint's node does not" {
  from   = node.node1
  to     = "203.0.113.10:80"
  answer = pod.ingress
}

expect "the outside keeps its address" {
  from   = client.laptop
  to     = "203.0.113.10:80"
  answer = pod.ingress
  source = client.laptop.ip
}
