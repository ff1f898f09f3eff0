# What you will see: what Docker does for a container, done by hand. Of three containers one
# does without its default route, and cannot send to the world at all. The others have one, which alone
# is of no use: node1 forwards their packets, but nobody outside knows their addresses. On node2 a
# rule of MASQUERADE repairs that, and another of DNAT lets the world in, at port 8088, unless it
# comes from the bridge, from where it is refused.
#
#   bare  (node2)  no route      ──▶ ✗ unreachable
#   plain (node1)  10.244.1.2    ──▶ node1 ─────────────────▶ world ──▶ ✗ no way back
#   web   (node2)  10.244.2.2    ──▶ node2 ── MASQUERADE ───▶ world
#   world ──▶ node2:8088 ── DNAT ──▶ web:80
#
# What to try: netlab up on this file; netlab exec bare -- ip rule; netlab exec plain -- ping -c 1 world;
# netlab exec node2 -- iptables -t nat -S; netlab exec node2 -- sysctl -w net.ipv4.ip_forward=0,
# and again from web.
#
# The proof: "without a default route", "with a route, and nothing else", "masqueraded", "a port
# for the world" and "not for the bridge".

network { mode = "none" }

proxy { mode = "none" }

policies {
  style   = "exec"
  like    = "none"
  command = ["sh", "/nat.sh"]
  restart = "always"
  env     = { WEB = "${pod.web.ip}:80" }

  file "/nat.sh" {
    content = <<-EOT
      # Nothing of what the pod network itself does: this rule is before its own.
      iptables -t nat -I POSTROUTING -s 10.244.0.0/16 -j ACCEPT || exit
      if [ $NODE_NAME = node2 ]; then
        iptables -t nat -I POSTROUTING -s 10.244.2.0/24 ! -o cni0 -j MASQUERADE || exit
        iptables -t nat -A PREROUTING ! -i cni0 -p tcp -m tcp --dport 8088 -j DNAT --to-destination $WEB || exit
      fi
      touch /run/ready
      exec sleep inf
    EOT
  }

  ready {
    exec = ["test", "-e", "/run/ready"]
  }
}

node "node1" {}
node "node2" {}

client "world" {
  port "http" { port = 80 }
}

pod "plain" { node = node.node1 }

pod "web" {
  node = node.node2
  port "http" { port = 80 }
}

pod "neighbour" { node = node.node2 }

pod "bare" {
  node      = node.node2
  net_admin = true
  command   = ["sh", "/no-route.sh"]

  file "/no-route.sh" { # its default route no longer counts
    content = <<-EOT
      ip rule add pref 100 lookup main suppress_prefixlength 0 || exit
      ip rule add pref 101 unreachable || exit
      touch /run/ready
      exec sleep inf
    EOT
  }

  ready {
    exec = ["test", "-e", "/run/ready"]
  }
}

locals {
  # A connection, in a command that paper does not know.
  connect = ["bash", "-c", "exec 3<>/dev/tcp/$0/$1"]
  ping    = ["ping", "-c", "1", "-W", "1"]
}

expect "without a default route" {
  proves = ["articles.119", "articles.128"]
  run {
    on      = pod.bare
    command = concat(local.ping, [client.world.ip])
    status  = 2
    matches = "Network is unreachable"
  }
  run { # the bridge leads to neighbours
    on      = pod.bare
    command = concat(local.ping, [pod.web.ip])
  }
}

expect "the word for a next hop" {
  proves = ["articles.129"]
  run {
    on      = pod.bare
    command = ["ip", "route", "add", "default", "gw", "10.244.2.1"]
    status  = 255
    matches = "\"gw\" is a garbage"
  }
  run { # this one it understands: it is the kernel that says no
    on      = pod.bare
    command = ["ip", "route", "add", "default", "via", "10.244.2.1"]
    status  = 2
    matches = "RTNETLINK answers: "
  }
}

expect "with a route, and nothing else" {
  proves = ["articles.130"]
  route {
    on  = pod.plain
    to  = "default"
    via = cidrhost(node.node1.pod_cidr, 1)
  }
  run {
    on      = node.node1
    command = ["sysctl", "-n", "net.ipv4.ip_forward"]
    output  = "1"
  }
  run {
    on      = pod.plain
    command = concat(local.ping, [client.world.ip])
    status  = 1
    matches = "100% packet loss"
  }
}

expect "masqueraded" {
  proves = ["articles.130", "articles.131", "articles.132"]
  from   = pod.web
  to     = client.world
  source = node.node2.ip
  rules {
    on      = node.node2
    table   = "nat"
    chain   = "POSTROUTING"
    has     = "-s 10.244.2.0/24 ! -o cni0 -j MASQUERADE"
    counted = 1
  }
  seen {
    on          = node.node2 # at eth0
    direction   = "out"
    source      = node.node2.ip
    destination = "${client.world.ip}:80"
  }
  seen {
    on     = node.node2
    source = pod.web
    absent = true
  }
}

expect "a port for the world" {
  proves = ["articles.133"]
  run {
    on      = client.world
    command = concat(local.connect, [node.node2.ip, "8088"])
  }
  run { # where there is no such rule
    on      = client.world
    command = concat(local.connect, [node.node1.ip, "8088"])
    status  = 1
    matches = "Connection refused"
  }
}

expect "not for the bridge" {
  proves = ["articles.134"]
  run {
    on      = pod.neighbour
    command = concat(local.connect, [node.node2.ip, "8088"])
    status  = 1
    matches = "Connection refused"
  }
}
