# Imported from testdata/manifests/cluster.yaml.

network {
  service_cidr = "10.96.0.0/12"
  node_cidr    = "172.18.0.0/24"
}

node "ip-172-18-0-2-internal" {
  zone    = "zone-a"
  address = "172.18.0.2"
  labels  = { disk = "ssd", "kubernetes.io/arch" = "amd64", "kubernetes.io/os" = "linux" }
}

node "ip-172-18-0-3-internal" {
  zone    = "zone-b"
  address = "172.18.0.3"
  labels  = { "kubernetes.io/arch" = "amd64", "kubernetes.io/os" = "linux" }
}

node "ip-172-18-0-4-internal" {
  zone    = "zone-b"
  address = "172.18.0.4"
  labels  = { disk = "ssd", "kubernetes.io/arch" = "amd64", "kubernetes.io/os" = "linux" }
}

namespace "kube-system" {}

pod "agent" {
  for_each     = toset(["ip-172-18-0-2-internal", "ip-172-18-0-4-internal"])
  node         = node[each.key]
  namespace    = namespace.kube-system
  host_network = true
  workload     = "DaemonSet"
  labels       = { k8s-app = "agent" }
  port "metrics" { port = 9100 }
}

pod "web-6f7c" {
  for_each = {
    "aaaaa" = node.ip-172-18-0-3-internal
    "bbbbb" = node.ip-172-18-0-4-internal
  }
  node     = each.value
  workload = "Deployment/web"
  labels   = { app = "web", pod-template-hash = "6f7c" }
  port "tcp-80" { port = 80 }
}

pod "web-6f7c-ccccc" {
  node     = node.ip-172-18-0-2-internal
  workload = "Deployment/web"
  ready    = false
  labels   = { app = "web", pod-template-hash = "6f7c" }
  port "tcp-80" { port = 80 }
}

service "kubernetes" {
  labels     = { component = "apiserver" }
  cluster_ip = "10.100.0.1"
  port "https" {
    port        = 443
    target_port = 6443
  }
  endpoint { address = "172.18.0.2" }
}

service "web" {
  type                        = "LoadBalancer"
  selector                    = { app = "web" }
  cluster_ip                  = "10.111.7.9"
  external_traffic_policy     = "Local"
  health_check_node_port      = 31000
  load_balancer_source_ranges = ["172.18.0.0/16"]
  session_affinity            = "ClientIP"
  session_affinity { timeout = 600 }
  load_balancer_ip = "203.0.113.9"
  port "" {
    port      = 80
    node_port = 30080
  }
}

service "database" {
  cluster_ip = "10.100.0.77"
  port "sql" { port = 5432 }
  port "metrics" {
    port        = 9187
    target_port = 9000
  }
  endpoint {
    address   = "172.18.0.50"
    port      = 5432
    port_name = "sql"
  }
  endpoint {
    address   = "172.18.0.50"
    port      = 9001
    port_name = "metrics"
  }
  endpoint {
    address   = "172.18.0.51"
    port      = 5432
    port_name = "sql"
    ready     = false
  }
  endpoint {
    address   = "172.18.0.51"
    port      = 9001
    port_name = "metrics"
    ready     = false
  }
}

# Not carried over:
#   testdata/manifests/cluster.yaml:92: Pod done: it has ended.
