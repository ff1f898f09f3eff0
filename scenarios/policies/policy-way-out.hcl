# What you will see: where may a pod go? A namespace's policy opens the way to one network
# outside, with a hole in it, and to pods by their labels. Above it an administrator's
# tiers name destinations by their addresses, and get the last word in either direction.
#
#   worker ──▶ partner (in the network)      worker ──✗ rival (in the hole)
#   worker ──✗ metadata, which the Admin tier denies to the pods of every namespace
#
# What to try: netlab reach on this file, and netlab explain on a pair that is denied.
#
# The proof: one table of who may connect; every other pair is silent.

network { node_cidr = "192.168.0.0/24" }

node "node1" {}
node "node2" {}

client "partner" {
  address = "192.168.0.100"
  port "https" { port = 443 }
}

client "rival" {
  address = "192.168.0.113"
  port "https" { port = 443 }
}

client "metadata" {
  address = "192.168.0.169"
  port "https" { port = 443 }
}

namespace "jobs" { labels = { team = "jobs" } }

pod "worker" {
  namespace = "jobs"
  node      = node.node1
  labels    = { role = "worker" }
  port "https" { port = 443 }
}

pod "queue" {
  namespace = "jobs"
  node      = node.node2
  labels    = { role = "queue" }
  port "https" { port = 443 }
}

pod "other" {
  node = node.node2
  port "https" { port = 443 }
}

policy "way-out" {
  namespace = "jobs"
  pod_selector { match_labels = { role = "worker" } }
  policy_types = ["Egress"]
  egress {
    to {
      ip_block {
        cidr   = "192.168.0.96/27"
        except = ["192.168.0.112/28"]
      }
    }
    to {
      ip_block { cidr = "192.168.0.169/32" }
    }
    port { port = 443 }
  }
  egress {
    to {
      namespace_selector { match_labels = { team = "jobs" } }
      pod_selector { match_labels = { role = "queue" } }
    }
  }
}

cluster_policy "no-metadata" {
  tier     = "Admin"
  priority = 1
  subject {
    namespace_selector { match_labels = { team = "jobs" } }
  }
  egress {
    name   = "cloud credentials"
    action = "Deny"
    to { networks = ["192.168.0.169/32"] }
    port { port = 443 }
  }
}

cluster_policy "queue-serves-its-workers" {
  tier     = "Admin"
  priority = 2
  subject {
    namespace_selector { match_labels = { team = "jobs" } }
    pod_selector { match_labels = { role = "queue" } }
  }
  ingress {
    name   = "workers"
    action = "Accept"
    from {
      namespace_selector { match_labels = { team = "jobs" } }
      pod_selector { match_labels = { role = "worker" } }
    }
    port { port = 443 }
  }
  ingress {
    name   = "nobody else"
    action = "Deny"
    from { namespace_selector = {} }
  }
}

expect "who may connect to whom" {
  from   = [pod.worker, pod.other]
  to     = [client.partner, client.rival, client.metadata, pod.queue]
  port   = 443
  denied = "timeout"
  retry  = "10s"
  allow = [
    [pod.worker, client.partner], [pod.worker, pod.queue],
    [pod.other, client.partner], [pod.other, client.rival], [pod.other, client.metadata],
  ]
}
