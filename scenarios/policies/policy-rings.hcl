# What you will see: how does an administrator write the same rule at several levels? Rings
# around a core: each namespace may be reached from its own ring and from those inside it, and
# every boundary is one cluster policy that count makes.
#
#   ring-0 ◀── ✗ ── ring-1 ◀── ✗ ── ring-2        inwards denied, outwards allowed
#
# What to try: netlab test --var rings=4 scenarios/policies/policy-rings.hcl, and netlab reach
# on it, whose table is then a triangle of four.
#
# The proof: "outwards and within the ring" and "inwards".

variable "rings" {
  type    = number
  default = 3
}

node "node1" {}
node "node2" {}

namespace "ring" {
  count  = var.rings
  labels = { ring = count.index }
}

pod "web" {
  count     = var.rings
  namespace = namespace.ring[count.index]
  labels    = { app = "web" }
  port "http" { port = 80 }
}

cluster_policy "boundary" {
  count    = var.rings - 1
  name     = "into-ring-${count.index}"
  tier     = "Admin"
  priority = count.index
  subject { namespace_selector = { ring = count.index } }
  ingress {
    action = "Deny"
    from {
      namespace_selector {
        match_expressions {
          key      = "ring"
          operator = "In"
          values   = [for i in range(count.index + 1, var.rings) : tostring(i)]
        }
      }
    }
  }
}

cluster_policy "baseline" {
  for_each = { inner = 0 }
  tier     = "Baseline"
  priority = each.value
  subject { namespace_selector = {} }
  ingress {
    action = "Accept"
    from { namespace_selector = {} }
  }
}

policy "open" {
  count        = 2
  namespace    = namespace.ring[count.index]
  pod_selector = { app = "web" }
  ingress {}
}

expect "outwards and within the ring" {
  for_each = { for i in range(var.rings) : i => slice(pod.web, i, var.rings) }
  from     = pod.web[each.key]
  to       = each.value
}

expect "inwards" {
  for_each = { for i in range(1, var.rings) : i => slice(pod.web, 0, i) }
  from     = pod.web[each.key]
  to       = each.value
  outcome  = "timeout"
}
