# Imported from testdata/manifests/names.yaml.

dns {}

node "node1" {}
node "node2" {}
node "node3" {}

namespace "kube-system" {}

pod "web" {
  count    = 2
  workload = "Deployment"
  labels   = { app = "web" }
  port "tcp-8080" { port = 8080 }
}

pod "short-path" {
  labels = { app = "client" }
  dns_config { options = ["ndots:2", "edns0"] }
}

pod "on-its-own" {
  labels     = { app = "client" }
  dns_policy = "None"
  dns_config {
    nameservers = ["10.96.0.10"]
    searches    = ["default.svc.cluster.local", "svc.cluster.local"]
  }
}

pod "agent" {
  for_each     = node
  node         = each.value
  namespace    = namespace.kube-system
  host_network = true
  workload     = "DaemonSet"
  labels       = { app = "agent" }
  dns_policy   = "ClusterFirstWithHostNet"
}

service "web" {
  selector = { app = "web" }
  port "" {
    port        = 80
    target_port = 8080
  }
}
