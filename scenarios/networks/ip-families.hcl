# What you will see: does the same claim hold over IPv4, over IPv6 and with both? The
# matrix runs the scenario once for each, and prints the results side by side.
#
#   shell ──▶ web on another node, directly and by its service
#
# What to try: netlab test --matrix ip_families=ipv6,proxy=iptables FILE; policies.live =
# "cut", and connections end that are no longer allowed.
#
# The proof: the source address is the pod's own, in every family.

matrix {
  ip_families = ["ipv4", "ipv6", "dual"]
}

variable "password" {
  type        = string
  default     = "not shown in diagnostics"
  description = "A secret that the pods share: policies select by its hash."
  sensitive   = true
}

policies {
  live        = "keep"
  host_egress = "enforce"
}

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "shell" {
  node   = node.node2
  labels = { key = substr(sha256(var.password), 0, 8) }
}

pod "stranger" {
  node = node.node2
}

service "web" {
  selector = { app = "web" }
  port "http" { port = 80 }
}

policy "by-key" {
  pod_selector {
    match_labels = { app = "web" }
  }
  ingress {
    from {
      pod_selector {
        match_labels = { key = substr(sha256(var.password), 0, 8) }
      }
    }
  }
}

policy "no-way-out" {
  pod_selector { match_labels = { app = "web" } }
  policy_types = ["Egress"]
}

expect "the key opens" {
  from   = pod.shell
  to     = [pod.web, service.web]
  source = pod.shell
}

expect "without it nobody gets in" {
  from    = pod.stranger
  to      = [pod.web, service.web]
  outcome = "timeout"
}
