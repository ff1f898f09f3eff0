# What you will see: mode nftables without a chain for each service and endpoint. The map
# services says how many endpoints an address and a port have, the map endpoints which one has
# which number. An endpoint that comes or goes changes elements of maps, and no rule, except
# those of services with session affinity. Packets are treated as in nftables.hcl: the layout
# changed, not the behaviour.
#
#   laptop ──▶ node1:30080 ──@services──▶ 3 endpoints ──0, 1 or 2, @endpoints──▶ web
#   shell ──▶ cluster IP ───@services──▶ 3 endpoints ──0, 1 or 2, @endpoints──▶ web
#
# What to try: netlab exec node1 -- nft list ruleset, then
#   netlab up -v --var replicas=4 scenarios/services/flat-layout.hcl, which prints what changes
# and remove the layout: netlab up changes to kube-proxy's own while the lab runs.
#
# The proof: "every endpoint answers", "policy Local keeps the client's address", and what is
# in no map: "no other port", "nothing behind it".

variable "replicas" {
  type        = number
  default     = 3
  description = "pods behind the service, all of them on node1"
}

proxy {
  mode = "nftables"
  nftables {
    layout = "flat"
  }
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  count  = var.replicas
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" { node = node.node2 }

service "web" {
  type       = "NodePort"
  cluster_ip = "10.96.0.80"
  selector   = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30080
  }
}

service "local" {
  type                    = "NodePort"
  selector                = { app = "web" }
  external_traffic_policy = "Local"
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 30081
  }
}

service "sticky" {
  selector = { app = "web" }
  session_affinity { timeout = 600 }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "restricted" {
  type                        = "LoadBalancer"
  selector                    = { app = "web" }
  load_balancer_source_ranges = ["10.244.0.0/16"]
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "nothing" {
  port "http" { port = 80 }
}

expect "every endpoint answers" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell
}

expect "an endpoint reaches itself" {
  from   = pod.web
  to     = service.web
  answer = pod.web
}

expect "policy Cluster masquerades" {
  from   = client.laptop
  to     = "${node.node2.ip}:30080"
  answer = pod.web
  source = node.node2
}

expect "policy Local keeps the client's address" {
  from   = client.laptop
  to     = "${node.node1.ip}:30081"
  answer = pod.web
  source = client.laptop
}

expect "policy Local drops where no endpoint is" {
  from    = client.laptop
  to      = "${node.node2.ip}:30081"
  outcome = "timeout"
}

expect "a pod of that node reaches all endpoints" {
  from   = pod.shell
  to     = "${node.node2.ip}:30081"
  answer = pod.web
}

expect "a client stays with its endpoint" {
  from   = pod.shell
  to     = service.sticky
  answer = pod.web
  sticky = true
}

expect "pods are in the source ranges" {
  from   = pod.shell
  to     = "${service.restricted.load_balancer_ip}:80"
  answer = pod.web
}

expect "nodes are not" {
  from    = node.node1
  to      = "${service.restricted.load_balancer_ip}:80"
  outcome = "timeout"
}

expect "no other port" {
  from    = pod.shell
  to      = "10.96.0.80:81"
  outcome = "refused"
}

expect "nothing behind it" {
  from    = pod.shell
  to      = service.nothing
  outcome = "refused"
}
