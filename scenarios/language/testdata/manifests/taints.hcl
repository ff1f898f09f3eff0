# Imported from testdata/manifests/taints.yaml.

node "control" { labels = { "node-role.kubernetes.io/control-plane" = "" } }
node "cordoned" {}
node "gpu" {}
node "worker" {}

pod "web" {
  count    = 2
  node     = node.worker
  workload = "Deployment"
  labels   = { app = "web" }
}

pod "model" {
  count    = 2
  node     = [node.gpu, node.worker][count.index]
  workload = "Deployment"
  labels   = { app = "model" }
}

pod "logs" {
  for_each = toset(["cordoned", "gpu", "worker"])
  node     = node[each.key]
  workload = "DaemonSet"
  labels   = { app = "logs" }
}

pod "network" {
  for_each     = node
  node         = each.value
  host_network = true
  workload     = "DaemonSet"
  labels       = { app = "network" }
}

# Not carried over, testdata/manifests/taints.yaml:64: tolerations: every node that the pod could be on has a taint that it does not tolerate, so the nodes take turns.
pod "stray" {}
