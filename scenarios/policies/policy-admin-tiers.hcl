# What you will see: what can an administrator enforce above the namespaces? Policies of
# the Admin tier are evaluated first, by priority: Accept and Deny are final, Pass
# defers to the network policies. Where no network policy isolates a pod, the Baseline
# tier decides.
#
#   monitoring  Admin Accept      gets in although the namespace denies all
#   banned      Admin Deny        stays out although the namespace allows all
#   passed      Admin Pass        as the network policy decides
#   others      Baseline Deny     where there is no network policy
#
# What to try: netlab explain scenarios/policies/policy-admin-tiers.hcl monitoring
# pod/closed, which names the tier that decided.
#
# The proof: each line above is an expectation.

node "node1" {}
node "node2" {}

namespace "monitoring" { labels = { role = "monitoring" } }
namespace "banned" { labels = { role = "banned" } }
namespace "passed" { labels = { role = "passed" } }
namespace "shop" { labels = { role = "shop" } }

pod "prometheus" {
  namespace = "monitoring"
  node      = node.node1
}

pod "intruder" {
  namespace = "banned"
  node      = node.node2
}

pod "guest" {
  namespace = "passed"
  node      = node.node2
}

pod "closed" {
  namespace = "shop"
  node      = node.node1
  labels    = { app = "closed" }
  port "http" { port = 80 }
}

pod "open" {
  namespace = "shop"
  node      = node.node2
  labels    = { app = "open" }
  port "http" { port = 80 }
}

pod "plain" {
  namespace = "shop"
  node      = node.node1
  labels    = { app = "plain" }
  port "http" { port = 80 }
}

cluster_policy "allow-monitoring" {
  tier     = "Admin"
  priority = 10
  subject { namespace_selector = { role = "shop" } }
  ingress {
    action = "Accept"
    from { namespace_selector = { role = "monitoring" } }
  }
}

cluster_policy "ban" {
  tier     = "Admin"
  priority = 20
  subject { namespace_selector = { role = "shop" } }
  ingress {
    action = "Pass"
    from { namespace_selector = { role = "passed" } }
  }
  ingress {
    action = "Deny"
    from { namespace_selector = { role = "banned" } }
  }
}

cluster_policy "closed-by-default" {
  tier     = "Baseline"
  priority = 0
  subject { namespace_selector = { role = "shop" } }
  ingress {
    action = "Deny"
    from { namespace_selector = {} }
  }
}

policy "closed" {
  namespace    = "shop"
  pod_selector = { app = "closed" }
  policy_types = ["Ingress"]
}

policy "open" {
  namespace    = "shop"
  pod_selector = { app = "open" }
  ingress {}
}

expect "monitoring gets in everywhere" {
  from = pod.prometheus
  to   = [pod.closed, pod.open, pod.plain]
}

expect "the banned get in nowhere" {
  from    = pod.intruder
  to      = [pod.closed, pod.open, pod.plain]
  outcome = "timeout"
}

expect "after Pass, the network policy decides: allowed" {
  from = pod.guest
  to   = pod.open
}

expect "after Pass, the network policy or the baseline denies" {
  from    = pod.guest
  to      = [pod.closed, pod.plain]
  outcome = "timeout"
}
