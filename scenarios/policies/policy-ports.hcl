# What you will see: which ports does a rule open? A number, a range, or a name that
# each selected pod resolves for itself; TCP if no protocol is given. A rule for one
# protocol opens nothing in another, and a pod without the named port gets nothing
# opened.
#
#   rule: port "metrics"        web 9100, api 9200: each its own
#   rule: 8000 to 8010          both ends included
#   rule: port 53, UDP          not TCP
#
# What to try: netlab rules node1, and see the set of addresses and ports that the name
# became.
#
# The proof: the expectations in pairs, one open and one closed.

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node1
  labels = { role = "server" }
  port "http" { port = 8000 }
  port "last" { port = 8010 }
  port "beyond" { port = 8011 }
  port "metrics" { port = 9100 }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
  port "dns-tcp" { port = 53 }
}

pod "api" {
  node   = node.node2
  labels = { role = "server" }
  port "metrics" { port = 9200 }
  port "other" { port = 9100 }
}

pod "shell" { node = node.node1 }
pod "far" { node = node.node2 }

policy "servers" {
  pod_selector = { role = "server" }
  ingress {
    port { port = "metrics" }
    port {
      port     = 8000
      end_port = 8010
    }
    port {
      port     = 53
      protocol = "udp"
    }
  }
}

expect "the range, ends included" {
  from = [pod.shell, pod.far]
  to   = ["${pod.web.ip}:8000", "${pod.web.ip}:8010"]
}

expect "not beyond it" {
  from    = [pod.shell, pod.far]
  to      = "${pod.web.ip}:8011"
  outcome = "timeout"
}

expect "the name, as each pod defines it" {
  from = [pod.shell, pod.far]
  to   = ["${pod.web.ip}:9100", "${pod.api.ip}:9200"]
}

expect "not the number that another pod gives it" {
  from    = [pod.shell, pod.far]
  to      = "${pod.api.ip}:9100"
  outcome = "timeout"
}

expect "UDP where the rule names it" {
  from     = [pod.shell, pod.far]
  to       = "${pod.web.ip}:53"
  protocol = "udp"
}

expect "and no TCP there" {
  from    = [pod.shell, pod.far]
  to      = "${pod.web.ip}:53"
  outcome = "timeout"
}
