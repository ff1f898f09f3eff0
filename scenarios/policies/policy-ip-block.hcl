# What you will see: what does except take away? Only from its own block. Here a wide
# block excludes node2's pods, and a second block admits one of them again: rules are
# additive, and nothing in a network policy denies. A single kernel set for both blocks,
# with the exception as "nomatch", gets this wrong.
#
#   10.0.0.0/8 except 10.244.2.0/24     every pod except those of node2
#   10.244.2.10/32                      and one of those
#
# What to try: netlab rules node1, and see how the blocks were split.
#
# The proof: "admitted again" and "excluded".

node "node1" {}
node "node2" {}
client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "near" { node = node.node1 }

pod "left-out" {
  node    = node.node2
  address = "10.244.2.20"
}

pod "again" {
  node    = node.node2
  address = "10.244.2.10"
}

policy "blocks" {
  pod_selector = { app = "web" }
  ingress {
    from {
      ip_block {
        cidr   = "10.0.0.0/8"
        except = ["10.244.2.0/24"]
      }
    }
    from {
      ip_block { cidr = "10.244.2.10/32" }
    }
  }
}

expect "inside the block" {
  proves = ["articles.168"]
  from   = pod.near
  to     = pod.web
  answer = pod.web
}

expect "excluded" {
  proves  = ["articles.168"]
  from    = pod.left-out
  to      = pod.web
  outcome = "timeout"
}

expect "admitted again" {
  from   = pod.again
  to     = pod.web
  answer = pod.web
}
