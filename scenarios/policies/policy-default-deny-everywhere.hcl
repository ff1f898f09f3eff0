# What you will see: how does one close every namespace by default, and write it once? A
# block with for_each makes an object for each element: three namespaces, each with two pods,
# a service web and a policy default-deny, which are namesakes and do not know each other.
#
#   red:  shell ── ✗ ── web      green:  shell ── ✗ ── web      blue:  shell ── ✗ ── web
#
# What to try: add a team to the local value, and netlab up again. Or give one namespace its
# policy back: for_each = { for k, n in namespace.team : k => n if k != "blue" }, and claims
# fail in blue alone.
#
# The proof: "inside the namespace" and "between namespaces", for each team.

locals {
  teams = toset(["red", "green", "blue"])
}

node "node1" {}
node "node2" {}

namespace "team" {
  for_each = local.teams
  name     = each.key # without it, the name would be team-red
  labels   = { team = each.key }
}

pod "web" {
  for_each  = namespace.team
  name      = "web"
  namespace = each.value
  node      = node.node1
  labels    = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  for_each  = namespace.team
  name      = "shell"
  namespace = each.value
  node      = node.node2
}

service "web" {
  for_each  = namespace.team
  name      = "web"
  namespace = each.value
  selector  = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

policy "default-deny" {
  for_each     = namespace.team
  name         = "default-deny"
  namespace    = each.value
  policy_types = ["Ingress", "Egress"]
}

expect "inside the namespace" {
  for_each = local.teams
  from     = pod.shell[each.key]
  to       = [service.web[each.key], pod.web[each.key]]
  outcome  = "timeout"
}

expect "between namespaces" {
  for_each = local.teams
  from     = pod.shell[each.key]
  to       = [for team, web in service.web : web if team != each.key]
  outcome  = "timeout"
}

expect "the pods do listen: their own node reaches them" {
  from = node.node1
  to   = pod.web
}

expect "a plain name is that of the own namespace, where the policy denies it" {
  for_each = local.teams
  from     = pod.shell[each.key]
  to       = "web:80"
  outcome  = "timeout"
}
