# What you will see: iptables without Kubernetes. A script on node1 writes rules that only count, in
# all five tables, and the claims read the counters of one datagram and its answer. What is for
# the node, through it or from it meets other hooks; a hook asks its tables in order, which a
# mark that each table moves on by one shows; and connection tracking tells first packets from
# later ones, unless the table raw has taken a packet out of it.
#
#   OUTPUT:  raw ──▶ mangle ──▶ nat (DNAT) ──▶ filter ──▶ security
#   INPUT:           mangle ──▶ filter ──▶ nat (SNAT)
#
# What to try: netlab up on this file, then netlab exec node1 -- iptables-save -c before and after
# netlab exec neighbour -- ping -c 1 web.
#
# The proof: "to the node", "through it", "from it", "the order in OUTPUT" and "raw".

network { mode = "host-gw" }

proxy { mode = "none" }

policies {
  style   = "exec"
  like    = "none"
  command = ["sh", "/count.sh"]
  restart = "always"

  file "/count.sh" {
    content = <<-EOT
      iptables-restore --noflush <<RULES || exit
      *raw
      -A PREROUTING -p udp --dport 7008 -j CT --notrack
      -A PREROUTING -p udp --sport 7008 -j CT --notrack
      -A OUTPUT -p udp --dport 7007 -j MARK --set-mark 1
      COMMIT
      *mangle
      -A PREROUTING -p udp -m comment --comment udp
      -A INPUT -p udp -m comment --comment udp
      -A FORWARD -p udp -m comment --comment udp
      -A OUTPUT -p udp -m comment --comment udp
      -A POSTROUTING -p udp -m comment --comment udp
      -A FORWARD -m conntrack --ctstate NEW
      -A FORWARD -m conntrack --ctstate ESTABLISHED
      -A FORWARD -m conntrack --ctstate RELATED
      -A FORWARD -m conntrack --ctstate UNTRACKED
      -A OUTPUT -p udp --dport 7007 -m mark --mark 1 -j MARK --set-mark 2
      -A INPUT -p udp --dport 7009 -j MARK --set-mark 2
      COMMIT
      *nat
      -A PREROUTING -p udp -m comment --comment udp
      -A OUTPUT -p udp --dport 7007 -m mark --mark 2 -j MARK --set-mark 3
      -A INPUT -p udp --dport 7009 -m mark --mark 3 -j MARK --set-mark 4
      COMMIT
      *filter
      -A OUTPUT -p udp --dport 7007 -m mark --mark 3 -j MARK --set-mark 4
      -A INPUT -p udp --dport 7009 -m mark --mark 2 -j MARK --set-mark 3
      COMMIT
      *security
      -A OUTPUT -p udp --dport 7007 -m mark --mark 4 -j MARK --set-mark 5
      COMMIT
      RULES
      iptables -A INPUT -m comment --comment "no table was named" || exit
      iptables -A INPUT -m comment --comment "rules for 7007: $(iptables -S | grep -c 'dport 7007') of $(iptables-save | grep -c 'dport 7007')" || exit
      forwarding=
      for on in 0 1; do
        sysctl -qw net.ipv4.ip_forward=$on || exit
        forwarding="$forwarding $(cat /proc/sys/net/ipv4/ip_forward)"
      done
      iptables -A INPUT -m comment --comment "forwarding:$forwarding" || exit
      for target in SNAT DNAT; do
        chains=
        for chain in PREROUTING INPUT FORWARD OUTPUT POSTROUTING; do
          iptables -t nat -A $chain -d 192.0.2.1 -j $target --to 192.0.2.2 && chains="$chains $chain"
        done
        iptables -A INPUT -m comment --comment "$target:$chains" || exit
      done
      iptables-restore --noflush <<RULES || exit
      *mangle
      :THIRDS - [0:0]
      -A OUTPUT -d 127.0.0.9 -p udp -j THIRDS
      -A THIRDS -m statistic --mode random --probability 0.33333 -j RETURN
      -A THIRDS -m statistic --mode random --probability 0.33333 -j RETURN
      -A THIRDS -m statistic --mode random --probability 0.33333 -j RETURN
      -A THIRDS -m comment --comment "the rest"
      COMMIT
      RULES
      bash -c 'for i in {1..900}; do echo > /dev/udp/127.0.0.9/9; done'
      set -- $(iptables-save -c -t mangle | sed -n 's/^\[\([0-9]*\):.*-A THIRDS.*/\1/p')
      shares="$1 $2 $3 $4"
      for expected in 300 200 133 267; do # 70 is more than 4 standard deviations
        [ $1 -gt $((expected - 70)) ] && [ $1 -lt $((expected + 70)) ] || exit
        shift
      done
      iptables -A INPUT -m comment --comment "thirds of what is left: as expected" || exit
      echo "of 900 packets, three rules of a third and the rest have $shares"
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
  routes = [{ to = node.node1.pod_cidr, via = node.node1.ip }]
}

pod "web" {
  node = node.node1
  dynamic "port" {
    for_each = { echo = 7007, untracked = 7008 }
    labels   = [port.key]
    content {
      port     = port.value
      protocol = "udp"
    }
  }
}

pod "of-the-node" {
  node         = node.node1
  host_network = true
  port "echo" {
    port     = 7009
    protocol = "udp"
  }
}

pod "elsewhere" {
  node = node.node2
  port "echo" {
    port     = 7007
    protocol = "udp"
  }
}

locals {
  # A datagram and its answer, at the hooks.
  hooks = {
    to      = { PREROUTING = 1, INPUT = 1, FORWARD = 0, OUTPUT = 1, POSTROUTING = 1 }
    through = { PREROUTING = 2, INPUT = 0, FORWARD = 2, OUTPUT = 0, POSTROUTING = 2 }
    from    = { PREROUTING = 1, INPUT = 1, FORWARD = 0, OUTPUT = 1, POSTROUTING = 1 }
  }
}

expect "to the node" {
  proves   = ["articles.55", "articles.120", "articles.124", "articles.249", "articles.252"]
  from     = client.laptop
  to       = "${node.node1.ip}:7009"
  protocol = "udp"
  answer   = pod.of-the-node
  dynamic "rules" {
    for_each = local.hooks.to
    content {
      on      = node.node1
      table   = "mangle"
      chain   = rules.key
      has     = "--comment udp"
      counted = rules.value
    }
  }
}

expect "through it" {
  proves   = ["articles.56", "articles.120", "articles.124", "articles.176", "articles.177", "articles.252"]
  from     = client.laptop
  to       = "${pod.web.ip}:7007"
  protocol = "udp"
  answer   = pod.web
  dynamic "rules" {
    for_each = local.hooks.through
    content {
      on      = node.node1
      table   = "mangle"
      chain   = rules.key
      has     = "--comment udp"
      counted = rules.value
    }
  }
}

expect "from it" {
  proves   = ["articles.57", "articles.124", "articles.177", "articles.252"]
  from     = node.node1
  to       = "${pod.elsewhere.ip}:7007"
  protocol = "udp"
  answer   = pod.elsewhere
  dynamic "rules" {
    for_each = local.hooks.from
    content {
      on      = node.node1
      table   = "mangle"
      chain   = rules.key
      has     = "--comment udp"
      counted = rules.value
    }
  }
}

expect "to itself, by lo" {
  proves   = ["articles.122"]
  from     = node.node1
  to       = "${node.node1.ip}:7009"
  protocol = "udp"
  answer   = pod.of-the-node
  seen {
    on          = node.node1
    interface   = "lo"
    source      = node.node1.ip
    destination = "${node.node1.ip}:7009"
  }
  seen {
    on       = node.node1 # at eth0
    protocol = "udp"
    absent   = true
  }
}

expect "the table local is asked before main" {
  proves = ["articles.121"]
  run {
    on      = node.node1
    command = ["ip", "rule"]
    matches = "^0:\\s+from all lookup local\\s*\n(.*\n)*32766:\\s+from all lookup main"
  }
  run { # main knows a way to the node's own address, by eth0
    on      = node.node1
    command = ["ip", "route", "show", "table", "main", "match", node.node1.ip]
    matches = "192.168.0.0/24 dev eth0"
  }
  run { # and local says that it is here
    on      = node.node1
    command = ["ip", "route", "get", node.node1.ip]
    matches = "^local ${node.node1.ip} dev lo "
  }
}

expect "the order in OUTPUT" {
  proves   = ["articles.63", "articles.179", "articles.253"]
  from     = node.node1
  to       = "${pod.elsewhere.ip}:7007"
  protocol = "udp"
  answer   = pod.elsewhere
  dynamic "rules" {
    for_each = { mangle = 1, nat = 2, filter = 3, security = 4 }
    content {
      on      = node.node1
      table   = rules.key
      chain   = "OUTPUT"
      has     = "--mark 0x${rules.value} -j MARK"
      counted = 1
    }
  }
}

expect "nat comes last in INPUT" {
  proves   = ["articles.253"]
  from     = client.laptop
  to       = "${node.node1.ip}:7009"
  protocol = "udp"
  answer   = pod.of-the-node
  dynamic "rules" {
    for_each = { filter = 2, nat = 3 }
    content {
      on      = node.node1
      table   = rules.key
      chain   = "INPUT"
      has     = "--mark 0x${rules.value} -j MARK"
      counted = 1
    }
  }
}

expect "the first packet is NEW, the answer ESTABLISHED" {
  proves   = ["articles.48", "articles.49"]
  from     = client.laptop
  to       = "${pod.web.ip}:7007"
  protocol = "udp"
  answer   = pod.web
  dynamic "rules" {
    for_each = { NEW = 1, ESTABLISHED = 1, RELATED = 0, UNTRACKED = 0 }
    content {
      on      = node.node1
      table   = "mangle"
      chain   = "FORWARD"
      has     = "--ctstate ${rules.key}"
      counted = rules.value
    }
  }
  rules { # the table nat sees the first packet alone
    on      = node.node1
    table   = "nat"
    chain   = "PREROUTING"
    has     = "--comment udp"
    counted = 1
  }
}

expect "an error is RELATED" {
  proves   = ["articles.50"]
  from     = client.laptop
  to       = "${pod.web.ip}:7999"
  protocol = "udp"
  outcome  = "refused"
  dynamic "rules" {
    for_each = { NEW = 1, ESTABLISHED = 0, RELATED = 1, UNTRACKED = 0 }
    content {
      on      = node.node1
      table   = "mangle"
      chain   = "FORWARD"
      has     = "--ctstate ${rules.key}"
      counted = rules.value
    }
  }
}

expect "raw" {
  proves   = ["articles.64", "articles.250"]
  from     = client.laptop
  to       = "${pod.web.ip}:7008"
  protocol = "udp"
  answer   = pod.web
  rules { # by which a service's address would lead to a pod
    on      = node.node1
    table   = "nat"
    chain   = "PREROUTING"
    has     = "--comment udp"
    counted = 0
  }
  dynamic "rules" {
    for_each = { NEW = 0, ESTABLISHED = 0, RELATED = 0, UNTRACKED = 2 }
    content {
      on      = node.node1
      table   = "mangle"
      chain   = "FORWARD"
      has     = "--ctstate ${rules.key}"
      counted = rules.value
    }
  }
}

expect "forwarding is a setting" {
  proves = ["articles.59"]
  rules { # what /proc said after sysctl -w had written 0, and 1
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has   = "--comment \"forwarding: 0 1\""
    count = 1
  }
}

expect "five tables" {
  proves = ["articles.61", "articles.125", "articles.254", "articles.255"]
  dynamic "rules" {
    for_each = ["raw", "mangle", "nat", "filter", "security"]
    content {
      on    = node.node1
      table = rules.value
      chain = "OUTPUT"
      has   = "-j MARK"
      count = 1
    }
  }
  dynamic "rules" { # which no table has but these
    for_each = { nat = "FORWARD", filter = "PREROUTING", security = "POSTROUTING" }
    content {
      on     = node.node1
      table  = rules.key
      chain  = rules.value
      absent = true
    }
  }
}

expect "filter, if no table is named" {
  proves = ["articles.62", "articles.276"]
  rules {
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has   = "--comment \"no table was named\""
    count = 1
  }
  rules { # iptables shows the rules of one table, iptables-save all
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has   = "--comment \"rules for 7007: 1 of 5\""
    count = 1
  }
}

expect "where addresses may be rewritten" {
  proves = ["articles.126", "articles.127"]
  dynamic "rules" { # where the kernel took a rule
    for_each = { SNAT = "INPUT POSTROUTING", DNAT = "PREROUTING OUTPUT" }
    content {
      on    = node.node1
      table = "filter"
      chain = "INPUT"
      has   = "--comment \"${rules.key}: ${rules.value}\""
      count = 1
    }
  }
}

expect "a third in each of three rules" {
  proves = ["articles.194"]
  rules { # of 900 packets about 300, 200 and 133, and 267 for none of them
    on    = node.node1
    table = "filter"
    chain = "INPUT"
    has   = "--comment \"thirds of what is left: as expected\""
    count = 1
  }
}
