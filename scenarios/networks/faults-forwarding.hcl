# What you will see: two ways in which a node stops forwarding, in Docker's network, where everyone
# meets them first. ip_forward is 0: containers of the node still reach each other, since a bridge does
# not route, and the node itself reaches everything; what has to be routed is lost without an error.
# FORWARD has the policy DROP and Docker's rules are gone, as after a firewall was restarted: the same,
# and containers of the node are cut off from each other, too, since bridged packets pass FORWARD.
#
#     laptop ──▶ node1:8080 ──▶ web    shell      forwarding-off: web and shell reach each other
#                                                 closed-forward: they do not
#
# What to try: netlab up --fault "no forwarding" FILE, then netlab explain shell laptop:80, and netlab
# status, which names what differs from the plan after you repair it with netlab exec node1 -- sysctl
# -w net.ipv4.ip_forward=1.
#
# The proof: "sound: into it", and below each fault how it shows.

network {
  mode = "bridge"
}

node "node1" {}
node "node2" {}

client "laptop" {
  port "http" { port = 80 }
}

pod "web" {
  node = node.node1
  port "http" {
    port      = 80
    host_port = 8080
  }
}

pod "shell" {
  node = node.node1
  port "http" { port = 80 }
}

expect "sound: on the node and out of it" {
  from = [pod.shell, node.node1]
  to   = [pod.web, client.laptop]
  port = "http"
}

expect "sound: into it" {
  from = [client.laptop, node.node1, node.node2, pod.shell]
  to   = "${node.node1.ip}:8080"
}

fault "no forwarding" {
  kind = "forwarding-off"
  node = node.node1

  expect "it is switched off" {
    proves = ["articles.123"]
    run {
      on      = node.node1
      command = ["cat", "/proc/sys/net/ipv4/ip_forward"]
      output  = "0\n"
    }
    # What is for others arrives, and does not go on.
    from    = pod.shell
    to      = client.laptop
    outcome = "timeout"
    seen {
      on          = node.node1
      interface   = "docker0"
      direction   = "in"
      source      = pod.shell
      destination = client.laptop
    }
    seen {
      on          = node.node1
      interface   = "eth0"
      direction   = "out"
      destination = client.laptop
      absent      = true
    }
  }

  expect "the bridge still forwards" {
    proves = ["articles.119"]
    from   = pod.shell
    to     = pod.web
  }

  expect "out is silent" {
    proves  = ["articles.119", "articles.123", "articles.130"]
    from    = pod.shell
    to      = client.laptop
    outcome = "timeout"
  }

  expect "and in" {
    proves  = ["articles.123"]
    from    = [client.laptop, node.node2]
    to      = "${node.node1.ip}:8080"
    outcome = "timeout"
  }

  expect "what the node sends itself is not forwarded" {
    from = node.node1
    to   = [pod.web, client.laptop, "${node.node1.ip}:8080"]
    port = "http"
  }
}

fault "firewall restarted" {
  kind = "closed-forward"
  node = node.node1

  expect "containers of the node, too" {
    from    = pod.shell
    to      = pod.web
    outcome = "timeout"
  }

  expect "out is silent" {
    proves  = ["articles.130"]
    from    = pod.shell
    to      = client.laptop
    outcome = "timeout"
  }

  expect "and in" {
    from    = [client.laptop, node.node2]
    to      = "${node.node1.ip}:8080"
    outcome = "timeout"
  }

  expect "the node reaches them" {
    from = node.node1
    to   = [pod.web, client.laptop]
    port = "http"
  }
}
