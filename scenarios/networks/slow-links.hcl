# What you will see: what do distance and loss do to a connection? A link with a delay
# holds back what its owner sends, so a round trip takes that much longer; jitter varies
# the delay; loss makes TCP retransmit. Needs the kernel's netem; where that is missing:
# netlab vm test.
#
#   far (40 ms) ──▶ web      moon (200 ms ± 20 ms) ──▶ web      near ──▶ web
#
# What to try: netlab exec far -- ping -c 3 192.168.0.11, and from near; a delay on the
# pod as well, and the two add up.
#
# The proof: lower bounds and ratios, which hold on a busy machine, too.

node "node1" {}

client "near" {}

client "far" {
  link { delay = "40ms" }
}

client "moon" {
  link {
    delay  = "200ms"
    jitter = "20ms"
  }
}

client "lossy" {
  link { loss = "10%" }
}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port      = 80
    node_port = 30080
  }
}

expect "the delay is at least that of the link" {
  from   = client.far
  to     = "${node.node1.ip}:30080"
  within = "5s"
  latency {
    min = "40ms"
    max = "4s"
  }
}

expect "a distant client waits longer" {
  from   = client.moon
  to     = "${node.node1.ip}:30080"
  within = "5s"
  latency {
    at_least = 1.2
    than     = client.near
  }
}

expect "jitter stays within its bounds" {
  from   = client.moon
  to     = "${node.node1.ip}:30080"
  within = "5s"
  latency { min = "180ms" }
}

expect "a near client is faster" {
  from = client.near
  to   = "${node.node1.ip}:30080"
  latency {
    at_most = 0.8
    than    = client.moon
  }
}

expect "TCP gets through a lossy link" {
  from   = client.lossy
  to     = "${node.node1.ip}:30080"
  within = "30s"
}
