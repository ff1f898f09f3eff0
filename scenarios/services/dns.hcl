# What you will see: names as pods of a cluster look them up. kube-dns is a service like any
# other, so that each query goes through its rules to one of two name servers.
#
#   shell ──▶ 10.96.0.10:53 ──▶ coredns-0 or coredns-1 ──▶ "web.prod" is 10.96.x.y
#   shell ──▶ 10.96.x.y:80  ──▶ web
#
# A short name is tried with each domain of the search path first (ndots:5 in resolv.conf):
# "web" is web.default.svc.cluster.local for a pod of namespace default.
#
# What to try: netlab exec shell -- cat /etc/resolv.conf; netlab exec shell -- dig +search SRV
# _http._tcp.web.prod; netlab plan shows every record of the name servers.
#
# The proof: "service.namespace" (A), "each pod of a StatefulSet has a name" (headless), "an
# alias" (CNAME), "the name of a pod", and what does not resolve.

dns {}

node "node1" {}
node "node2" {}

namespace "prod" {}

client "database" {
  port "sql" { port = 5432 }
}

pod "web" {
  count     = 2
  namespace = namespace.prod
  labels    = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  namespace = namespace.prod
  selector  = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

pod "db" {
  count     = 2
  labels    = { app = "db" }
  hostname  = "db-${count.index}"
  subdomain = "db"
  workload  = "StatefulSet"
  port "sql" { port = 5432 }
}

pod "starting" {
  node      = node.node1
  labels    = { app = "db" }
  hostname  = "db-2"
  subdomain = "db"
  workload  = "StatefulSet/db"
  ready     = false
  port "sql" { port = 5432 }
}

service "db" {
  selector   = { app = "db" }
  cluster_ip = "None"
  port "sql" { port = 5432 }
}

service "peers" {
  selector                    = { app = "db" }
  publish_not_ready_addresses = true
  cluster_ip                  = "None"
  port "sql" { port = 5432 }
}

# A headless service needs no port, and its endpoints may have names.
service "hosts" {
  cluster_ip = "None"
  endpoint {
    address  = client.database.ip
    hostname = "primary"
  }
}

service "alias" {
  type          = "ExternalName"
  external_name = "web.prod.svc.cluster.local"
}

service "outside" {
  type          = "ExternalName"
  external_name = "database"
}

pod "shell" {
  node = node.node1
}

pod "neighbour" {
  namespace = namespace.prod
  node      = node.node2
}

# Its resolver tries names with a dot as they are first, and knows another namespace.
pod "tuned" {
  node = node.node2
  dns_config {
    nameservers = [client.database.ip]
    searches    = ["prod.svc.cluster.local"]
    options     = ["ndots:1"]
  }
}

# It asks as its node does, which knows no names of the cluster.
pod "plain" {
  node       = node.node2
  dns_policy = "Default"
}

pod "agent" {
  node         = node.node2
  host_network = true
  dns_policy   = "ClusterFirstWithHostNet"
}

expect "service.namespace" {
  proves = ["articles.11", "articles.16"]
  from   = [pod.shell, pod.agent]
  to     = "web.prod:80"
  answer = pod.web
}

expect "the full name" {
  proves = ["articles.18"]
  from   = pod.shell
  to     = "${service.web.fqdn}:80"
  answer = pod.web
}

expect "a service of the pod's own namespace" {
  from   = pod.neighbour
  to     = "web:80"
  answer = pod.web
}

expect "a plain name is one of the pod's own namespace" {
  from    = pod.shell
  to      = "web:80"
  outcome = "dns"
}

expect "unless the search path has another" {
  from   = pod.tuned
  to     = "web:80"
  answer = pod.web
}

expect "the name of a headless service leads to every ready pod" {
  from   = pod.shell
  to     = "db:5432"
  answer = pod.db
}

expect "each pod of a StatefulSet has a name" {
  from   = pod.shell
  to     = "db-1.db:5432"
  answer = pod.db[1]
}

expect "a pod that is not ready has none" {
  from    = pod.shell
  to      = "db-2.db:5432"
  outcome = "dns"
}

expect "unless the service publishes it" {
  from   = pod.shell
  to     = "peers:5432"
  answer = [pod.db[0], pod.db[1], pod.starting]
}

expect "each endpoint that is written has a name" {
  from   = pod.shell
  to     = ["hosts:5432", "primary.hosts:5432"]
  answer = client.database
}

expect "an alias" {
  from   = pod.shell
  to     = "alias:80"
  answer = pod.web
}

expect "an alias of a host outside" {
  proves = ["articles.90"]
  from   = pod.shell
  to     = "outside:5432"
  answer = client.database
}

expect "which is a CNAME, and no address of the cluster" {
  proves = ["articles.224"]
  run {
    on      = pod.shell
    command = ["dig", "+search", "outside"]
    matches = "outside\\.default\\.svc\\.cluster\\.local\\.\\s+\\d+\\s+IN\\s+CNAME\\s+database\\."
  }
}

expect "the name of a pod" {
  from   = pod.shell
  to     = "${replace(pod.db[0].ip, ".", "-")}.default.pod:5432"
  answer = pod.db[0]
}

expect "nodes do not know the names of the cluster" {
  from    = [node.node1, client.database, pod.plain]
  to      = "web.prod:80"
  outcome = "dns"
}

expect "but those outside" {
  from   = [node.node1, pod.plain, pod.shell]
  to     = "database:5432"
  answer = client.database
}

expect "what nobody has does not exist, at once" {
  from    = pod.shell
  to      = "www.example.com:443"
  outcome = "dns"
}

expect "each name server answers" {
  proves   = ["articles.17"]
  from     = pod.shell
  to       = "kube-dns.kube-system:53"
  protocol = "udp"
  answer   = ["kube-system/coredns-0", "kube-system/coredns-1"]
}

expect "who asks the name server" {
  proves = ["articles.68"]
  run {
    on      = pod.shell
    command = ["dig", "+search", "web.prod"]
    matches = "web\\.prod\\.svc\\.cluster\\.local\\.\\s+\\d+\\s+IN\\s+A\\s+${replace(service.web.cluster_ip, ".", "\\.")}\n(.*\n)*;; SERVER: 10\\.96\\.0\\.10#53"
  }
}

expect "an alias is a CNAME" {
  proves = ["articles.216", "articles.224"]
  run {
    on      = pod.shell
    command = ["dig", "+search", "outside"]
    matches = "outside\\.default\\.svc\\.cluster\\.local\\.\\s+\\d+\\s+IN\\s+CNAME\\s+database\\."
  }
}
