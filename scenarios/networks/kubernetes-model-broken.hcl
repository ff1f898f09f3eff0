# What you will see: a pod network that is none for Kubernetes. Each node has a bridge for its pods,
# as a host with containers has, and no route leads to the pods of the other node. The rules of the
# Kubernetes network model hold on each node; across nodes rule 1 (pods reach all pods without NAT)
# and rule 3 (others see the address that a pod sees on itself) fail, for every pair of pods.
#
# What to try: netlab test --paper --var mode=bridge FILE, Docker's network, where they fail in
# another way: packets do not get lost, but reach other pods. netlab test --paper --var mode=host-gw
# FILE: now these rules hold, so the claim fails.
#
# The proof: "the network model, but for the rules across nodes".

variable "mode" {
  default = "none"
}

network {
  mode = var.mode
}

node "node1" {}
node "node2" {}

pod "web" {
  count = 4
  port "http" { port = 8080 }
}

expect "the network model, but for the rules across nodes" {
  model = "kubernetes"
  fails = ["rule 1 across nodes", "rule 3 across nodes"]
}
