# What you will see: what makes the address of a service local to a node. Usually the
# device kube-ipvs0 has it; here it is a local route instead, and no device. With
# strict_arp a node answers ARP requests only for addresses of the link that asks, so
# that nobody on the underlay learns of an address that every node has.
#
#   shell ──▶ 10.96.0.80 (local route of node1) ──▶ web
#
# What to try: netlab exec node1 -- ip route show table local; the same with addresses =
# "dummy". Needs the kernel's ip_vs; where that is missing: netlab vm test.
#
# The proof: "the service answers", and below the fault "what is not for the node goes on".

proxy {
  mode = "ipvs"
  ipvs {
    scheduler  = "rr"
    strict_arp = true
    addresses  = "local_routes"
  }
}

node "node1" {}
node "node2" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 80 }
}

pod "shell" { node = node.node1 }

service "web" {
  cluster_ip = "10.96.0.80"
  selector   = { app = "web" }
  port "http" { port = 80 }
}

expect "the service answers" {
  proves = ["articles.207"]
  from   = [pod.shell, node.node2]
  to     = service.web
  answer = pod.web
}

expect "a local route, and no device" {
  proves = ["articles.207"]
  interface {
    on     = node.node1
    name   = "kube-ipvs0"
    absent = true
  }
  run {
    on      = node.node1
    command = ["ip", "route", "show", "table", "local", service.web.cluster_ip]
    matches = "^local 10.96.0.80 dev lo"
  }
}

expect "the address has no other port" {
  from    = pod.shell
  to      = "10.96.0.80:81"
  outcome = "refused"
}

# The virtual server is still there, but the kernel asks IPVS only about packets for the node itself.
fault "no local route" {
  kind = "missing-addresses"
  node = node.node1

  expect "what is not for the node goes on" {
    proves  = ["articles.207"]
    from    = pod.shell
    to      = service.web
    outcome = "timeout"
    rules {
      on    = node.node1
      tool  = "ipvsadm"
      has   = "-a -t 10.96.0.80:80 -r ${pod.web.ip}:80 -m -w 1"
      count = 1
    }
    seen {
      on          = node.node1
      direction   = "out"
      destination = "10.96.0.80:80"
    }
  }

  expect "on another node it is" {
    from   = node.node2
    to     = service.web
    answer = pod.web
  }
}
