# What you will see: with internalTrafficPolicy = Local a cluster IP leads only to
# endpoints on the client's own node. On a node that has none, the packet is dropped,
# although endpoints exist elsewhere. The node port is not affected.
#
#   one (node1) ──▶ cluster IP ──▶ agent-0 on node1, never agent-1 on node2
#   far (node3) ──▶ cluster IP ──▶ dropped
#
# What to try: give the agent a third instance with --var replicas=3, and see which
# expectation fails now.
#
# The proof: "only the node's own pod answers" and "a node without an endpoint
# drops".

variable "replicas" {
  type        = number
  default     = 2
  description = "agents, one per node in the order of the nodes"
}

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

pod "agent" {
  count  = var.replicas
  labels = { app = "agent" }
  port "metrics" { port = 9100 }
}

pod "one" {
  node = node.node1
}

pod "two" {
  node = node.node2
}

pod "far" {
  node = node.node3
}

service "agent" {
  type     = "NodePort"
  selector = { app = "agent" }
  port "metrics" {
    port        = 9100
    target_port = "metrics"
    node_port   = 30910
  }
  internal_traffic_policy = "Local"
}

expect "only the node's own pod answers" {
  from   = [pod.one, node.node1]
  to     = service.agent
  answer = pod.agent["0"]
  count  = 10
}

expect "on another node it is that node's pod" {
  from   = pod.two
  to     = service.agent
  answer = pod.agent["1"]
  source = pod.two.ip
  count  = 10
}

expect "a node without an endpoint drops" {
  from    = [pod.far, node.node3]
  to      = service.agent
  outcome = "timeout"
}

expect "the node port follows the external policy" {
  from   = client.laptop
  to     = "${node.node3.ip}:${service.agent.node_port["metrics"]}"
  answer = pod.agent
}
