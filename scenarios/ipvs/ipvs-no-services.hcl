# What you will see: proxy mode ipvs without a service. The device for addresses of services is there,
# with no address, and IPVS has no virtual server. Each service brings its own with it, and takes them
# with it when it goes.
#
#   node1: kube-ipvs0   no address; ipvsadm -Ln lists nothing
#
# What to try: netlab up on this file; netlab exec node1 -- ipvsadm -Ln; write a service, and netlab up
# again; take it out, and up again. Needs the kernel's ip_vs; where that is missing: netlab vm test.
#
# The proof: "no virtual server" and "no address".

proxy { mode = "ipvs" }

node "node1" {}
node "node2" {}

pod "web" {
  node = node.node2
  port "http" { port = 80 }
}

pod "shell" { node = node.node1 }

expect "no virtual server" {
  proves = ["articles.211"]
  from   = pod.shell
  to     = pod.web
  rules {
    on     = node.node1
    tool   = "ipvsadm"
    absent = true
  }
}

expect "no address" {
  proves = ["articles.211"]
  interface {
    on   = node.node1
    name = "kube-ipvs0"
    type = "dummy"
  }
  run {
    on      = node.node1
    command = ["ip", "-brief", "-4", "address", "show", "kube-ipvs0"]
    output  = ""
  }
}
