# What you will see: what does except take away? Only from its own block. Here a wide
# block leaves out node2's pods, and a second block lets one of them in again: rules are
# a union, and nothing in a network policy denies. A single kernel set for both blocks,
# with the exception as "nomatch", gets this wrong.
#
#   10.0.0.0/8 except 10.244.2.0/24     every pod but those of node2
#   10.244.2.10/32                      and one of these
#
# What to try: netlab rules node1, and see what the blocks were split into.
#
# The proof: "let in again" beside "left out".

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
  from   = pod.near
  to     = pod.web
  answer = pod.web
}

expect "left out" {
  from    = pod.left-out
  to      = pod.web
  outcome = "timeout"
}

expect "let in again" {
  from   = pod.again
  to     = pod.web
  answer = pod.web
}
