# Imported from testdata/manifests/slices.yaml.

network {
  pod_cidr     = ["10.244.0.0/16", "fd00:10:244::/56"]
  service_cidr = ["10.96.0.0/16", "fd00:10:96::/112"]
  node_cidr    = ["192.168.0.0/24", "fd00:192:168::/64"]
}

node "node1" {}
node "node2" {}

pod "starting" {
  node  = node.node1
  ready = false
  port "tcp-5432" { port = 5432 }
}

pod "running" {
  node = node.node2
  port "tcp-5432" { port = 5432 }
}

service "db" {
  ip_family_policy            = "RequireDualStack"
  publish_not_ready_addresses = true
  port "" { port = 5432 }
  endpoint {
    pod         = pod.starting
    ready       = false
    serving     = true
    terminating = true
  }
  endpoint { pod = pod.running }
}

service "printers" {
  cluster_ip = "None"
  endpoint {
    address  = "192.0.2.9"
    hostname = "hall"
  }
  endpoint { address = "192.0.2.10" }
}
