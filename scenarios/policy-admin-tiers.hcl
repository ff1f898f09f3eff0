# What you will see: what can an administrator say over the heads of namespaces?
# Policies of the Admin tier are asked first, by priority: Accept and Deny end the
# question, Pass hands it on to the network policies. Where no network policy isolates a
# pod, the Baseline tier has the last word.
#
#   monitoring  Admin Accept      gets in although the namespace denies all
#   banned      Admin Deny        stays out although the namespace allows all
#   passed      Admin Pass        as the network policy says
#   others      Baseline Deny     where no network policy is
#
# What to try: netlab explain scenarios/policy-admin-tiers.hcl monitoring pod/closed, which
# names the tier that decided.
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

expect "who is banned gets in nowhere" {
  from    = pod.intruder
  to      = [pod.closed, pod.open, pod.plain]
  outcome = "timeout"
}

expect "who is passed on gets what the network policy gives" {
  from = pod.guest
  to   = pod.open
}

expect "and what it does not give, and the baseline" {
  from    = pod.guest
  to      = [pod.closed, pod.plain]
  outcome = "timeout"
}
