# Kubernetes issue 93456: traffic from inside the cluster to a load balancer address
# with externalTrafficPolicy = Local should use the endpoints of all nodes, as in mode
# iptables. In mode ipvs that became true only for nodes without endpoints, and even
# there not for processes (or pods on the host network) if the endpoint is on the host
# network, too, as ingress controllers often are.
#
# What you will see: a process of node2 uses the load balancer address as its source,
# since that is local. Nothing masquerades it: the policy is Local, and node-to-node
# traffic does not cross the pod network. node1 has the same address, treats the packet
# as spoofed (a martian source), and drops it.
#
#   shell (node2) ──▶ VIP ──▶ ingress (node1, host network)      works
#   node2         ──▶ VIP ──▶ 203.0.113.10 > 192.168.0.11:8080     dropped by node1
#
# What to try: netlab explain -f scenarios/issues/k8s-93456-ipvs-host-network.hcl node2
# 203.0.113.10:80; external_traffic_policy = "Cluster", or mode = "iptables".
#
# The proof: "a process of a node without endpoints times out".

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

expect "a process of a node without endpoints times out" {
  from    = node.node2
  to      = "203.0.113.10:80"
  outcome = "timeout"
}

expect "a process of the endpoint's node connects" {
  from   = node.node1
  to     = "203.0.113.10:80"
  answer = pod.ingress
}

expect "outside clients keep their address" {
  from   = client.laptop
  to     = "203.0.113.10:80"
  answer = pod.ingress
  source = client.laptop.ip
}
