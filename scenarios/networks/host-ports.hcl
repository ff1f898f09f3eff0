# What you will see: host ports as a Kubernetes cluster has them (hostPort of a container), by the rules
# of the CNI plugin portmap. Only the node that the pod runs on has the port. A client of it keeps its
# address, since the pod is on that node; pods on the same bridge do not, since the pod would answer
# them directly, and 127.0.0.1 of the node does not, since no answer could come back. Network policies
# see what a host port was translated to: blocked's port is closed by one, whichever way it is dialed.
#
#     laptop ──▶ 192.168.0.11:8080 ── CNI-HOSTPORT-DNAT ── CNI-DN-… ──▶ web:80
#
# What to try: netlab explain laptop 192.168.0.11:8080; netlab exec node1 -- iptables -t nat -S;
# docker-bridge.hcl, where ports are published by Docker.
#
# The proof: "a client keeps its address" next to "pods of the node do not".

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  node = node.node1
  port "http" {
    port      = 80
    host_port = 8080
  }
  port "dns" {
    port      = 5353
    host_port = 53
    protocol  = "udp"
  }
}

pod "blocked" {
  node   = node.node1
  labels = { app = "blocked" }
  port "http" {
    port      = 80
    host_port = 8081
  }
}

pod "near" {
  node = node.node1
}

pod "far" {
  node = node.node2
}

policy "blocked" {
  pod_selector { match_labels = { app = "blocked" } }
  policy_types = ["Ingress"]
}

expect "a client keeps its address" {
  from   = client.laptop
  to     = "${node.node1.ip}:8080"
  answer = pod.web
  source = client.laptop
}

expect "over udp, too" {
  from     = client.laptop
  to       = "${node.node1.ip}:53"
  protocol = "udp"
  answer   = pod.web
  source   = client.laptop
}

expect "the other node does not have the port" {
  from    = [client.laptop, pod.near, node.node2]
  to      = "${node.node2.ip}:8080"
  outcome = "refused"
}

expect "pods of the node do not" {
  from   = [pod.near, pod.web]
  to     = "${node.node1.ip}:8080"
  source = cidrhost(node.node1.pod_cidr, 1)
}

expect "a pod of another node has its node's" {
  from   = pod.far
  to     = "${node.node1.ip}:8080"
  source = node.node2.ip
}

expect "the node itself by its address" {
  from   = node.node1
  to     = "${node.node1.ip}:8080"
  source = node.node1.ip
}

expect "and on 127.0.0.1" {
  from   = node.node1
  to     = "127.0.0.1:8080"
  answer = pod.web
  source = cidrhost(node.node1.pod_cidr, 1)
}

expect "a policy applies to the pod's port" {
  from    = [client.laptop, pod.far]
  to      = ["${node.node1.ip}:8081", "${pod.blocked.ip}:80"]
  outcome = "timeout"
}

expect "but not to its node" {
  from   = node.node1
  to     = ["${node.node1.ip}:8081", "${pod.blocked.ip}:80"]
  answer = pod.blocked
}
