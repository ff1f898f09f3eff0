# Imported from testdata/manifests/unfinished.yaml.

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

pod "starts" {
  node      = node.node1
  namespace = namespace.shop
  ready     = false
}

# Not carried over, testdata/manifests/unfinished.yaml:31: EndpointSlice partner-1: its endpoints are names, which no proxy sends connections to.
service "partner" {
  namespace  = namespace.shop
  cluster_ip = "None"
  port "" { port = 443 }
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
