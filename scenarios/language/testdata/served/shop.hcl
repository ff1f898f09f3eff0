# A cluster with most of what the API has: two families, a headless service, one with a load
# balancer, one without a selector, pods that are not ready or go away, workloads, a policy of each
# kind.
network {
  pod_cidr     = ["10.244.0.0/16", "fd00:10:244::/56"]
  service_cidr = ["10.96.0.0/16", "fd00:10:96::/112"]
  node_cidr    = ["192.168.0.0/24", "fd00:192:168::/64"]
}
node "node1" { zone = "a" }
node "node2" {}
namespace "shop" {
  labels = { team = "shop" }
}
pod "web" {
  namespace = "shop"
  count     = 2
  workload  = "Deployment"
  labels    = { app = "web" }
  port "http" { port = 8080 }
}
pod "old" {
  namespace   = "shop"
  labels      = { app = "web" }
  terminating = true
  port "http" { port = 8080 }
}
pod "agent" {
  host_network = true
  ready        = false
}
pod "peer" {
  count     = 2
  workload  = "StatefulSet"
  hostname  = "peer-${count.index}"
  subdomain = "peers"
  labels    = { app = "peer" }
}
pod "watch" {
  for_each = node
  node     = each.value
  workload = "DaemonSet"
  labels   = { app = "watch" }
}
pod "load" {
  workload = "Job"
  labels   = { app = "load" }
}
service "web" {
  namespace = "shop"
  type      = "LoadBalancer"
  selector  = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
  port "https" {
    port        = 443
    target_port = 8443
  }
}
service "peers" {
  namespace  = "shop"
  cluster_ip = "None"
  selector   = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}
service "outside" {
  port "sql" {
    port = 5432
  }
  endpoint { address = "192.168.0.250" }
}
policy "web" {
  namespace    = "shop"
  pod_selector = { app = "web" }
  ingress {
    from { pod_selector = {} }
    port { port = "http" }
  }
}
cluster_policy "guard" {
  tier     = "Admin"
  priority = 10
  subject { namespace_selector = { team = "shop" } }
  egress {
    action = "Deny"
    to { networks = ["192.168.0.250/32"] }
  }
}
