# What you will see: the classic mistake of egress policies. One that lets a pod dial its
# database, and nothing else, takes its names away as well: the query to kube-dns is denied
# before there is any connection to judge.
#
#   careless ──▶ db.default? ──X                          outcome dns
#   careless ──▶ 10.96.x.y:5432 ──▶ db                    by its address it connects
#   careful  ──▶ db.default? ──▶ kube-dns ──▶ db          port 53 of kube-system is allowed
#
# What to try: netlab explain careless kube-dns.kube-system:53 names the policy.
#
# The proof: "without port 53 there are no names" and, as a control, "by address it connects".

dns {}

node "node1" {}
node "node2" {}

pod "db" {
  node   = node.node2
  labels = { app = "db" }
  port "sql" { port = 5432 }
}

service "db" {
  selector = { app = "db" }
  port "sql" { port = 5432 }
}

pod "careless" {
  node   = node.node1
  labels = { app = "careless" }
}

pod "careful" {
  node   = node.node1
  labels = { app = "careful" }
}

pod "free" {
  node = node.node1
}

policy "careless" {
  pod_selector = { app = "careless" }
  policy_types = ["Egress"]
  egress {
    to {
      pod_selector = { app = "db" }
    }
  }
}

policy "careful" {
  pod_selector = { app = "careful" }
  policy_types = ["Egress"]
  egress {
    to {
      pod_selector = { app = "db" }
    }
  }
  egress {
    to {
      namespace_selector = { "kubernetes.io/metadata.name" = "kube-system" }
      pod_selector       = { k8s-app = "kube-dns" }
    }
    port {
      port     = 53
      protocol = "udp"
    }
    port { port = 53 }
  }
}

expect "without port 53 there are no names" {
  from    = pod.careless
  to      = "db:5432"
  outcome = "dns"
}

expect "by address it connects" {
  from   = pod.careless
  to     = service.db
  answer = pod.db
}

expect "with it there are" {
  from   = [pod.careful, pod.free]
  to     = "db:5432"
  answer = pod.db
}

expect "a name that does not exist is another matter" {
  from    = pod.careful
  to      = "database:5432"
  outcome = "dns"
}
