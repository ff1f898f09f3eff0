# Imported from testdata/manifests/shop.yaml.

node "node1" {}
node "node2" {}
node "node3" {}

pod "carts" {
  count    = 2
  workload = "Deployment"
  labels   = { app = "carts" }
  port "tcp-7070" { port = 7070 }
}

pod "catalogue" {
  workload = "Deployment"
  labels   = { app = "catalogue" }
  port "tcp-3550" { port = 3550 }
}

pod "checkout" {
  workload = "Deployment"
  labels   = { app = "checkout" }
  port "tcp-5050" { port = 5050 }
}

pod "currency" {
  workload = "Deployment"
  labels   = { app = "currency" }
  port "tcp-7000" { port = 7000 }
}

pod "mail" {
  workload = "Deployment"
  labels   = { app = "mail" }
  port "tcp-8080" { port = 8080 }
}

pod "payment" {
  count    = 2
  workload = "Deployment"
  labels   = { app = "payment" }
  port "tcp-50051" { port = 50051 }
}

pod "recommendations" {
  workload = "Deployment"
  labels   = { app = "recommendations" }
  port "tcp-8081" { port = 8081 }
}

pod "shipping" {
  workload = "Deployment"
  labels   = { app = "shipping" }
  port "tcp-50052" { port = 50052 }
}

# Not carried over, testdata/manifests/shop.yaml:379: spec.template.spec.affinity: the nodes take turns. Write node in the pod block, or nodeName.
pod "frontend" {
  count    = 3
  workload = "Deployment"
  labels   = { app = "frontend" }
  port "http" { port = 8080 }
}

pod "store" {
  count     = 2
  hostname  = "store-${count.index}"
  subdomain = "store"
  workload  = "StatefulSet"
  labels    = { app = "store" }
  port "kv" { port = 6379 }
}

service "carts" {
  selector = { app = "carts" }
  port "grpc" { port = 7070 }
}

service "catalogue" {
  selector = { app = "catalogue" }
  port "grpc" { port = 3550 }
}

service "checkout" {
  selector = { app = "checkout" }
  port "grpc" { port = 5050 }
}

service "currency" {
  selector = { app = "currency" }
  port "grpc" { port = 7000 }
}

service "mail" {
  selector = { app = "mail" }
  port "grpc" {
    port        = 5000
    target_port = 8080
  }
}

service "payment" {
  selector = { app = "payment" }
  port "grpc" { port = 50051 }
}

service "recommendations" {
  selector = { app = "recommendations" }
  port "grpc" { port = 8081 }
}

service "shipping" {
  selector = { app = "shipping" }
  port "grpc" { port = 50052 }
}

service "frontend" {
  selector = { app = "frontend" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "frontend-external" {
  type     = "LoadBalancer"
  selector = { app = "frontend" }
  port "http" {
    port        = 80
    target_port = 8080
  }
}

service "store" {
  selector   = { app = "store" }
  cluster_ip = "None"
  port "kv" {
    port        = 6379
    target_port = "kv"
  }
}

ingress "shop" {
  rule {
    host = "shop.example"
    path {
      service = service.frontend
      port    = "http"
    }
  }
}

policy "store-for-carts-only" {
  pod_selector = { app = "store" }
  policy_types = ["Ingress"]
  ingress {
    from { pod_selector = { app = "carts" } }
    port { port = "kv" }
  }
}
