# What you will see: IPsec between the nodes. There is no device and no route to pods of other nodes:
# policies of the kernel say which packets have to be encrypted (ip xfrm policy), and states have the
# keys, one per direction (ip xfrm state). The packets leave in ESP, IP protocol 50, and what should
# be encrypted and is not is dropped. Headers, counter, tag and trailer cost 54 bytes, so pods have
# an MTU of 1446.
#
#   a (node1) ──▶ cni0 ──▶ policy ══ESP, eth0══▶ state, policy ──▶ cni0 ──▶ b (node2)
#
# What to try: netlab vm up FILE if this kernel has no ESP, then netlab explain a b,
# netlab exec node1 -- ip xfrm policy, and netlab exec node1 -- tcpdump -n -i eth0 esp.
#
# The proof: "every pod reaches every pod, unchanged", and "a wrong key is silent".

network {
  mode = "ipsec"
  ipsec { secret = "correct horse battery staple" }
}

node "node1" {}
node "node2" {}
node "node3" {}

client "laptop" {}

pod "a" {
  node = node.node1
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "b" {
  node   = node.node2
  labels = { app = "b" }
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

pod "c" {
  node = node.node3
  port "http" { port = 8080 }
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

service "b" {
  type     = "NodePort"
  selector = { app = "b" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31080
  }
}

locals {
  pods = [pod.a, pod.b, pod.c]
}

expect "every pod reaches every pod, unchanged" {
  from   = local.pods
  to     = local.pods
  port   = "http"
  source = each.from.ip
}

expect "udp as well" {
  from   = local.pods
  to     = local.pods
  port   = "echo"
  source = each.from.ip
}

expect "nodes reach every pod with an address of their own" {
  from   = [node.node1, node.node2, node.node3]
  to     = local.pods
  port   = "http"
  source = each.from
}

expect "a node that forwards to another's pod encrypts, too" {
  from = client.laptop
  to   = node.node1
  port = 31080
}

expect "the tunnel is no hop: it leaves the TTL alone" {
  from = pod.a
  to   = pod.b
  port = "http"
  ttl  = 62
}

expect "packets are as large as the headers allow" {
  from = pod.a
  to   = pod.b
  port = "http"
  mtu  = 1446
}

fault "node2 has another key" {
  kind = "wrong-key"
  node = node.node2

  expect "a wrong key is silent" {
    from    = [pod.a, pod.c]
    to      = pod.b
    port    = "http"
    outcome = "timeout"
  }

  expect "from node2, too" {
    from    = pod.b
    to      = [pod.a, pod.c]
    port    = "http"
    outcome = "timeout"
  }

  expect "the others understand each other" {
    from = [pod.a, pod.c]
    to   = [pod.a, pod.c]
    port = "http"
  }
}
