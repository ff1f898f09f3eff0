# What you will see: NAT by hand. Without it no answer comes back to a container; a rule of DNAT lets
# the world in by port 8088 of the host, but not what comes from the bridge. A script in each node
# writes these rules, tries which targets the kernel takes in which chain, and counts what three rules
# with a third each leave over.
#
#   laptop ──▶ node1:8088 ── raw, mangle ── nat: DNAT ──▶ cni0 ──▶ web:80
#   no-nat (node2) ──▶ laptop, which has no way back to it
#
# What to try: netlab up on this file; netlab exec node1 -- iptables-save -c; take ! -i cni0
# away, and see which claim fails.
#
# The proof: "the world gets in", "a capture is before PREROUTING", "without NAT".

network { mode = "host-gw" }

proxy {
  mode            = "exec"
  like            = "iptables"
  node_port_range = "8088-8088"
  command         = ["sh", "/rules.sh", node.ip]
  env             = { WEB = pod.web.ip, NO_NAT = pod.no-nat.ip }
  restart         = "always"

  file "/rules.sh" {
    content = <<-EOT
      say() { iptables -A INPUT -p 253 -m comment --comment "$1" || exit; }

      iptables-restore --noflush <<RULES || exit
      *raw
      -A PREROUTING -p tcp -d $1 --dport 8088 -m comment --comment "before DNAT: raw"
      COMMIT
      *mangle
      :THIRDS -
      -A PREROUTING -p tcp -d $1 --dport 8088 -m comment --comment "before DNAT: mangle"
      -A FORWARD -p tcp -d $1 --dport 8088 -m comment --comment "after DNAT: port 8088"
      -A FORWARD -p tcp -d $WEB --dport 80 -m comment --comment "after DNAT: port 80"
      -A OUTPUT -p udp -d 127.0.0.1 --dport 9 -j THIRDS
      -A THIRDS -m statistic --mode random --probability 0.33333 -j RETURN
      -A THIRDS -m statistic --mode random --probability 0.33333 -j RETURN
      -A THIRDS -m statistic --mode random --probability 0.33333 -j RETURN
      -A THIRDS -m comment --comment "what is left over" -j RETURN
      COMMIT
      *nat
      -I POSTROUTING -s $NO_NAT -j ACCEPT
      COMMIT
      RULES
      if [ $NODE_NAME = node1 ]; then
        iptables -t nat -A PREROUTING ! -i cni0 -p tcp -m tcp --dport 8088 -j DNAT --to-destination $WEB:80 || exit
      fi

      for chain in PREROUTING INPUT OUTPUT POSTROUTING; do
        for target in "SNAT --to-source" "DNAT --to-destination"; do
          if iptables -t nat -A $chain -d 192.0.2.1 -j $target 192.0.2.2 2>/dev/null; then
            say "$${target%% *} in $chain: taken"
          else
            say "$${target%% *} in $chain: refused"
          fi
        done
      done

      perl -MSocket -e '
        socket(my $s, PF_INET, SOCK_DGRAM, 0) or die;
        send($s, "", 0, pack_sockaddr_in(9, INADDR_LOOPBACK)) for 1 .. 5400' || exit
      set -- $(iptables -t mangle -nvxL THIRDS | awk 'NR > 2 { print $1 }')
      if [ $1 -gt $2 ] && [ $2 -gt $3 ] && [ $4 -gt $3 ]; then say "thirds: unequal, and more left over than the last has"; else say "thirds: $*"; fi

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

client "laptop" {
  port "http" { port = 80 }
}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "neighbour" {
  node = node.node1
  port "http" { port = 80 }
}

pod "no-nat" { node = node.node2 }

service "web" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port      = 80
    node_port = 8088
  }
}

expect "the world gets in" {
  proves = ["articles.133"]
  from   = client.laptop
  to     = "${node.node1.ip}:8088"
  answer = pod.web
  source = client.laptop.ip
}

expect "a capture is before PREROUTING" {
  proves = ["articles.135"]
  from   = client.laptop
  to     = "${node.node1.ip}:8088"
  answer = pod.web
  seen {
    on          = node.node1
    direction   = "in"
    source      = client.laptop
    destination = "${node.node1.ip}:8088"
  }
  seen {
    on          = node.node1
    destination = pod.web
    absent      = true
  }
  seen {
    on          = node.node1
    interface   = "cni0"
    direction   = "out"
    source      = client.laptop
    destination = "${pod.web.ip}:80"
  }
}

expect "raw and mangle see the old destination, FORWARD the new one" {
  proves = ["articles.197"]
  from   = client.laptop
  to     = "${node.node1.ip}:8088"
  answer = pod.web
  dynamic "rules" {
    for_each = { raw = "before DNAT: raw", mangle = "before DNAT: mangle" }
    content {
      on      = node.node1
      table   = rules.key
      chain   = "PREROUTING"
      has     = "--comment \"${rules.value}\""
      counted = "some"
    }
  }
  rules {
    on      = node.node1
    table   = "mangle"
    chain   = "FORWARD"
    has     = "--comment \"after DNAT: port 80\""
    counted = "some"
  }
  rules {
    on      = node.node1
    table   = "mangle"
    chain   = "FORWARD"
    has     = "--comment \"after DNAT: port 8088\""
    counted = 0
  }
}

expect "not from the bridge" {
  proves = ["articles.134"]
  run {
    on      = pod.neighbour
    command = ["curl", "-s", "--max-time", "2", "${node.node1.ip}:8088"]
    status  = 7 # refused: nobody listens there
  }
  run {
    on      = client.laptop
    command = ["curl", "-s", "--max-time", "2", "-o", "/dev/null", "${node.node1.ip}:8088"]
  }
}

expect "without NAT" {
  proves = ["articles.130"]
  run {
    on      = pod.no-nat
    command = ["curl", "-s", "--max-time", "1", "-o", "/dev/null", client.laptop.ip]
    status  = 28 # no answer in time
  }
  run {
    on      = pod.neighbour
    command = ["curl", "-s", "--max-time", "2", "-o", "/dev/null", client.laptop.ip]
  }
}

expect "local comes first" {
  proves = ["articles.121"]
  run {
    on      = node.node1
    command = ["ip", "rule"]
    matches = "^0:\\s+from all lookup local *\n(.*\n)*32766:\\s+from all lookup main"
  }
  run {
    on      = node.node1
    command = ["ip", "route", "get", node.node1.ip]
    matches = "^local ${node.node1.ip} dev lo "
  }
  run { # although main has a route to it, too
    on      = node.node1
    command = ["ip", "route", "show", "table", "main", "match", node.node1.ip]
    matches = "dev eth0"
  }
}

expect "by lo to oneself" {
  proves = ["articles.122"]
  from   = pod.web
  to     = "${pod.web.ip}:80"
  answer = pod.web
  seen {
    on          = pod.web
    interface   = "lo"
    source      = pod.web
    destination = "${pod.web.ip}:80"
  }
  seen {
    on          = pod.web
    destination = pod.web
    absent      = true
  }
}

expect "which NAT belongs where" {
  proves = ["articles.126", "articles.127"]
  rules {
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has = [
      "--comment \"SNAT in PREROUTING: refused\"", "--comment \"DNAT in PREROUTING: taken\"",
      "--comment \"SNAT in INPUT: taken\"", "--comment \"DNAT in INPUT: refused\"",
      "--comment \"SNAT in OUTPUT: refused\"", "--comment \"DNAT in OUTPUT: taken\"",
      "--comment \"SNAT in POSTROUTING: taken\"", "--comment \"DNAT in POSTROUTING: refused\"",
    ]
  }
}

expect "a third three times" {
  proves = ["articles.194"]
  rules {
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has   = "--comment \"thirds: unequal, and more left over than the last has\""
  }
}
