# What you will see: a tunnel in user space whose program has ended. Its device and all routes stay,
# so that ip route shows nothing wrong; packets leave and come back to nobody. It is silent in both
# directions, for one node alone: what the others send each other still passes.
#
# What to try: netlab up --fault "the program of node2 is gone" FILE, then netlab explain a b and
# netlab exec node2 -- ip route; compare with netlab up FILE.
#
# The proof: "sound", then "b is lost" and "the others are not".

network {
  mode = "udp"
}

node "node1" {}
node "node2" {}
node "node3" {}

pod "a" {
  node = node.node1
  port "http" { port = 80 }
}

pod "b" {
  node = node.node2
  port "http" { port = 80 }
}

pod "c" {
  node = node.node3
  port "http" { port = 80 }
}

expect "sound" {
  from = [pod.a, pod.b, pod.c]
  to   = [pod.a, pod.b, pod.c]
}

fault "the program of node2 is gone" {
  kind = "dead-daemon"
  node = node.node2

  expect "b is lost" {
    from    = [pod.a, pod.c]
    to      = pod.b
    outcome = "timeout"
  }

  expect "in both directions" {
    from    = pod.b
    to      = pod.a
    outcome = "timeout"
  }

  expect "the others are not" {
    from = pod.a
    to   = pod.c
  }
}
