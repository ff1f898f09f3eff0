# Imported from testdata/manifests/policies.yaml.

node "node1" {}
node "node2" {}
node "node3" {}

namespace "prod" { labels = { purpose = "production" } }
namespace "dev" { labels = { purpose = "testing" } }

pod "web" {
  namespace = namespace.prod
  labels    = { app = "web", role = "frontend" }
  port "http" { port = 80 }
  port "metrics" { port = 5000 }
}

pod "api" {
  namespace = namespace.prod
  labels    = { app = "api", role = "backend" }
  port "tcp-80" { port = 80 }
}

pod "probe" {
  namespace = namespace.dev
  labels    = { app = "probe", type = "monitoring" }
}

service "prod-web" {
  name      = "web"
  namespace = namespace.prod
  selector  = { app = "web" }
  port "" { port = 80 }
}

service "dev-web" {
  name          = "web"
  namespace     = namespace.dev
  type          = "ExternalName"
  external_name = "web.prod.svc.cluster.local"
}

policy "dev-default-deny" {
  name         = "default-deny"
  namespace    = namespace.dev
  pod_selector = {}
}

policy "prod-default-deny" {
  name         = "default-deny"
  namespace    = namespace.prod
  pod_selector = {}
  policy_types = ["Ingress", "Egress"]
}

policy "allow-all" {
  namespace    = namespace.prod
  pod_selector = { app = "web" }
  ingress {}
}

policy "api-from-web" {
  namespace    = namespace.prod
  pod_selector = { app = "api" }
  ingress {
    from { pod_selector = { app = "web" } }
    port { port = 80 }
    port {
      port     = 8000
      end_port = 8099
      protocol = "udp"
    }
  }
}

policy "metrics-for-monitoring" {
  namespace    = namespace.prod
  pod_selector = { app = "web" }
  ingress {
    from {
      namespace_selector {
        match_expressions {
          key      = "purpose"
          operator = "In"
          values   = ["testing", "staging"]
        }
      }
      pod_selector = { type = "monitoring" }
    }
    port { port = "metrics" }
  }
}

policy "dns-and-the-office" {
  namespace    = namespace.prod
  pod_selector = {}
  policy_types = ["Egress"]
  egress {
    port {
      port     = 53
      protocol = "udp"
    }
    port { port = 53 }
  }
  egress {
    to {
      ip_block {
        cidr   = "10.20.0.0/16"
        except = ["10.20.5.0/24"]
      }
    }
  }
}

cluster_policy "no-telnet" {
  tier     = "Admin"
  priority = 10
  subject { namespace_selector = {} }
  ingress {
    name   = "no telnet"
    action = "Deny"
    from { namespace_selector = {} }
    port { port = 23 }
    port {
      port     = 512
      end_port = 514
    }
  }
  egress {
    action = "Pass"
    to { networks = ["10.20.0.0/16"] }
  }
}

cluster_policy "monitoring" {
  tier     = "Admin"
  priority = 20
  subject {
    namespace_selector = { purpose = "production" }
    pod_selector       = {}
  }
  ingress {
    action = "Accept"
    from {
      namespace_selector = {}
      pod_selector       = { type = "monitoring" }
    }
    port { port = "metrics" }
    port {
      port     = "metrics"
      protocol = "udp"
    }
    port {
      port     = "metrics"
      protocol = "sctp"
    }
    port { port = 9100 }
  }
}

cluster_policy "default" {
  tier     = "Baseline"
  priority = 0
  subject { namespace_selector = { purpose = "testing" } }
  ingress {
    action = "Deny"
    from { namespace_selector = {} }
  }
}
