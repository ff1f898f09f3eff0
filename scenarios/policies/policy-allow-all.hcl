# What you will see: what is the opposite of "deny all"? One empty rule. A policy with
# ingress {} isolates the pods, too, but its rule has no conditions, so everything
# matches it. Rules and policies are additive: where one policy denies all by having no
# rule, and another allows all, everything is allowed.
#
#   policy "deny"  { no rule }   ─┐
#   policy "allow" { ingress {} } ┴▶ allowed
#
# What to try: remove the policy "allow", and netlab up again: the running lab changes
# by one chain.
#
# The proof: "allowed in spite of the policy that denies".

node "node1" {}
node "node2" {}
client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}

pod "api" {
  node   = node.node1
  labels = { app = "api" }
  port "http" { port = 80 }
}

pod "shell" { node = node.node2 }

policy "deny" {
  policy_types = ["Ingress"]
}

policy "allow" {
  pod_selector = { app = "web" }
  ingress {}
}

expect "allowed in spite of the policy that denies" {
  from = [pod.shell, pod.api, node.node2]
  to   = "${pod.web.ip}:80"
}

expect "in every protocol" {
  from     = pod.shell
  to       = "${pod.web.ip}:53"
  protocol = "udp"
}

expect "what only the other selects stays closed" {
  from    = [pod.shell, pod.web]
  to      = pod.api
  outcome = "timeout"
}
