# What you will see: which client an ingress controller tells pods of. With
# external_traffic_policy = "Local" the controller sees the client itself, on the nodes that have
# a controller; elsewhere the connection is dropped. Pods see the controller, whatever the
# policy is.
#
#   laptop ──▶ node1:30080 ──▶ controller (sees laptop) ──▶ web (sees the controller)
#   laptop ──▶ node2:30080 ──▶ nobody
#
# What to try: set the policy to "Cluster" (what fails then?), or the proxy mode to ipvs, whose
# virtual server does not drop; netlab explain --from laptop
# --to 192.168.0.11:30080.
#
# The proof: "the controller sees the client", "pods learn of it, and see the controller", "a
# node without a controller drops", and what a policy does to the second connection: "a policy
# sees the controller, not the client".

node "node1" {}
node "node2" {}
client "laptop" {}

ingress_controller {
  nodes = [node.node1]
  service {
    type                    = "NodePort"
    external_traffic_policy = "Local"
    port "http" { node_port = 30080 }
  }
}

ingress "shop" {
  rule {
    host = "shop.example"
    path { service = service.web }
    path {
      path    = "/private"
      service = service.private
    }
  }
}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

pod "private" {
  node   = node.node2
  labels = { app = "private" }
  port "http" { port = 8080 }
}

service "private" {
  selector = { app = "private" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

pod "shell" { node = node.node1 }

policy "private" {
  pod_selector = { app = "private" }
  ingress {
    from { pod_selector = { app = "none" } }
  }
}

expect "the controller sees the client" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = "ingress/ingress-controller-0"
  source = client.laptop.ip
  http { status = 404 }
}

expect "pods learn of it, and see the controller" {
  from      = client.laptop
  to        = "${node.node1.ip}:30080"
  answer    = pod.web
  source    = node.node1.pod_cidr
  forwarded = client.laptop.ip
  http { host = "shop.example" }
}

# A virtual server of IPVS sends it to the controller of the other node instead.
expect "a node without a controller drops" {
  from     = client.laptop
  to       = "${node.node2.ip}:30080"
  protocol = "http"
  outcome  = proxy.mode == "ipvs" ? "connected" : "timeout"
}

expect "a policy sees the controller, not the client" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = "ingress/ingress-controller-0"
  within = "2s"
  http {
    host   = "shop.example"
    path   = "/private"
    status = 504
  }
}
