# Imported from testdata/manifests/unfinished.yaml.

network { service_cidr = "10.96.0.0/16" }

node "node1" {}

namespace "shop" {}

pod "migrate" {
  namespace = namespace.shop
  workload  = "Job"
  labels    = { job = "migrate" }
}

pod "migrate-2" {
  namespace = namespace.shop
  workload  = "Job"
  labels    = { job = "migrate" }
}

# Not carried over, testdata/manifests/unfinished.yaml:21: spec.containers[0].ports[0].hostIP: a host port is published on every address of its node.
pod "starts" {
  node      = node.node1
  namespace = namespace.shop
  ready     = false
  port "tcp-9200" {
    port      = 9200
    host_port = 9200
  }
}

pod "cache" {
  count  = 2
  labels = { app = "cache" }
  port "metrics" { port = 9100 }
  port "tcp-9200" { port = 9200 }
}

# Not carried over, testdata/manifests/unfinished.yaml:31: EndpointSlice partner-1: its endpoints are names, which no proxy sends connections to.
service "partner" {
  namespace  = namespace.shop
  cluster_ip = "None"
  port "" { port = 443 }
}

# none of the pods that it selects has a tcp port named "redis", so its port 6379 has no endpoints.
service "cache" {
  selector   = { app = "cache" }
  cluster_ip = "10.96.0.20"
  port "metrics" {
    port        = 9100
    target_port = "metrics"
  }
  port "cache" {
    port        = 6379
    target_port = "redis"
    required    = false
  }
}

# Not carried over, testdata/manifests/unfinished.yaml:43: nodes: peers that are nodes are experimental in the API. Write their addresses as networks.
# Not carried over, testdata/manifests/unfinished.yaml:43: the rule, which has no other peer.
# Not carried over, testdata/manifests/unfinished.yaml:44: domainNames: peers with domain names are experimental in the API. Write their addresses as networks.
cluster_policy "fence" {
  tier     = "Admin"
  priority = 10
  subject { namespace_selector = { "kubernetes.io/metadata.name" = "shop" } }
  egress {
    name   = "some"
    action = "Pass"
    to { networks = ["10.0.0.0/8"] }
  }
}

# Not carried over:
#   testdata/manifests/unfinished.yaml:14: Pod waits: no node runs it yet.
#   testdata/manifests/unfinished.yaml:48: Job later: it is suspended.
#   testdata/manifests/unfinished.yaml:53: Job before: it has ended.
