# What you will see: two things that are said of the rules of services, with rules written by hand. DNAT,
# here of port 8088 of the host to port 80 of a pod, is not done before PREROUTING but in it: a capture
# and the tables raw and mangle still see the host's port, FORWARD the pod's. And three rules with a
# third each give no third to each: every rule takes its third of what the ones before it left.
#
#   laptop > node1:8088 ──▶ [capture] ──▶ raw ──▶ mangle ──▶ nat: DNAT ──▶ FORWARD ──▶ web:80
#
#   27 ──1/3──▶ 9    18 ──1/3──▶ 6    12 ──1/3──▶ 4    8 match no rule
#
# What to try: netlab up on this file, netlab exec node1 -- iptables -t mangle -nvL, where the chain
# THIRDS has counted 5,400 datagrams; explain laptop node1:8088; tour/05-equal-shares.hcl.
#
# The proof: "raw and mangle see the old destination, FORWARD the new one", "a third three times".

network { mode = "host-gw" }

proxy {
  mode            = "exec"
  like            = "iptables"
  node_port_range = "8088-8088"
  command         = ["sh", "/rules.sh", node.ip]
  env             = { WEB = pod.web.ip }
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
      RULES
      if [ $NODE_NAME = node1 ]; then
        iptables -t nat -A PREROUTING ! -i cni0 -p tcp -m tcp --dport 8088 -j DNAT --to-destination $WEB:80 || exit
      fi

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

client "laptop" {}

pod "web" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 80 }
}

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

expect "a third three times" {
  proves = ["articles.194"]
  rules {
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has   = "--comment \"thirds: unequal, and more left over than the last has\""
  }
}
