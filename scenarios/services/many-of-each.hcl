# What you will see: a lab whose size is one number. Each block with count or for_each makes
# several objects: node.worker[0], client.laptop["alice"], service.web["canary"]. Splats and
# for expressions go over all of them.
#
#   alice, bob ──▶ worker1 … worker3 ──▶ web-stable-0 … 2 on all workers
#                                   └──▶ web-canary-0 on worker1
#
# What to try: netlab test --var workers=5 scenarios/services/many-of-each.hcl. What has an
# address keeps it: netlab plan --diff shows what is new and nothing else.
#
# The proof: every claim goes over objects that no line of the file writes out.

variable "workers" {
  type        = number
  default     = 3
  description = "How many nodes there are, and stable pods."
}

locals {
  tracks = {
    stable = { replicas = var.workers, node_port = 31080 }
    canary = { replicas = 1, node_port = 31081 }
  }
  replicas = merge([for track, t in local.tracks : { for i in range(t.replicas) : "${track}-${i}" => { track = track, index = i } }]...)
}

node "worker" {
  count  = var.workers
  name   = "worker${count.index + 1}" # without it, the name would be worker-0
  labels = { number = count.index }
}

node "edge" {
  for_each = { a = "zone-a", b = "zone-b" } # edge-a and edge-b
  zone     = each.value
}

client "laptop" {
  for_each = toset(["alice", "bob"])
  name     = each.key
}

client "probe" {
  count = 2
}

pod "web" {
  for_each = local.replicas
  node     = node.worker[each.value.index]
  labels   = { app = "web", track = each.value.track }
  port "http" { port = 8080 }
}

pod "shell" {
  count = 2
  node  = node.edge[count.index == 0 ? "a" : "b"]
}

service "web" {
  for_each = local.tracks
  type     = "NodePort"
  selector = { app = "web", track = each.key }
  port "http" {
    port        = 80
    target_port = 8080
    node_port   = each.value.node_port
  }
}

service "number" {
  count    = 2
  selector = { app = "web", track = count.index == 0 ? "stable" : "canary" }
  port "http" {
    port        = 80
    target_port = 8080
  }
}

expect "each service has the pods of its track" {
  for_each = local.tracks
  from     = pod.shell[*]
  to       = service.web[each.key]
  answer   = [for key, p in pod.web : p if p.labels.track == each.key]
}

expect "laptops reach every node" {
  from = client.laptop
  to   = [for n in node.worker : addr(n.ip, service.web["stable"].node_port["http"])]
}

expect "and so do probes and the edge" {
  from = concat(client.probe, values(node.edge))
  to   = addr(node.edge["b"].ip, service.web["canary"].node_port["http"])
}

expect "a claim may be named by its element" {
  for_each = { first = 0, second = 1 }
  name     = "the ${each.key} service by number"
  from     = pod.shell[0]
  to       = service.number[each.value]
}
