# What you will see: drop or reject, silence or an error? A policy engine may drop
# silently, so that clients wait for their timeout, or reject, so that they know
# immediately. What is allowed is the same.
#
#   deny = "drop"      timeout after a second, or a minute with most programs
#   deny = "reject"    refused immediately: a TCP reset, for UDP an ICMP port unreachable
#
# What to try: netlab exec shell -- nc -v 10.244.1.x 80, with the address that netlab
# inspect shows; the same with deny = "drop".
#
# The proof: "refused over TCP" and "refused over UDP".

policies { deny = "reject" }

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}

pod "friend" {
  node   = node.node2
  labels = { friend = "yes" }
}

pod "shell" { node = node.node2 }
pod "near" { node = node.node1 }

policy "friends" {
  pod_selector = { app = "web" }
  ingress {
    from { pod_selector = { friend = "yes" } }
  }
}

expect "refused over TCP" {
  proves  = ["articles.174", "articles.175"]
  from    = [pod.shell, pod.near]
  to      = "${pod.web.ip}:80"
  outcome = "refused"
}

expect "refused over UDP" {
  proves   = ["articles.174", "articles.175"]
  from     = [pod.shell, pod.near]
  to       = "${pod.web.ip}:53"
  protocol = "udp"
  outcome  = "refused"
}

expect "friends get through" {
  from   = pod.friend
  to     = "${pod.web.ip}:80"
  answer = pod.web
}

expect "over UDP, too" {
  from     = pod.friend
  to       = "${pod.web.ip}:53"
  protocol = "udp"
  answer   = pod.web
}
