# What you will see: real software as pods. Two nginx answer behind a service, a third forwards requests to that
# service, and a policy lets nothing else reach them: netlab knows which of them a connection
# reaches, and whom it sees, although nginx does not say so. Each has its files to itself, and
# those of the machine are not touched. It needs nginx and curl.
#
# What to try: netlab up nginx.hcl; netlab exec laptop -- curl -s http://node1:30080; netlab logs -f. Change
# the text of a page here and run netlab up again: only those pods restart.
#
# The proof: "a page comes through both", and "nobody else reaches the web servers".

locals {
  # One process, so that nginx needs no other user; what it writes goes to its own /run.
  common = <<-EOT
    user root;
    daemon off;
    master_process off;
    pid /run/nginx.pid;
    error_log stderr;
    events {}
  EOT
  http   = <<-EOT
    access_log /dev/stdout;
    client_body_temp_path /run/body;
    proxy_temp_path /run/proxy;
    fastcgi_temp_path /run/fastcgi;
    uwsgi_temp_path /run/uwsgi;
    scgi_temp_path /run/scgi;
  EOT
}

node "node1" {}
node "node2" {}

client "laptop" {}

pod "web" {
  count   = 2
  labels  = { app = "web" }
  command = ["nginx", "-e", "stderr", "-c", "/srv/web/nginx.conf"]
  port "http" { port = 8080 }
  file "/srv/web/nginx.conf" {
    content = <<-EOT
      ${local.common}
      http {
        ${local.http}
        server {
          listen 8080;
          root /srv/web/pages;
        }
      }
    EOT
  }
  file "/srv/web/pages/index.html" {
    content = "page of web-${count.index}\n"
  }
}

pod "front" {
  labels  = { app = "front" }
  command = ["nginx", "-e", "stderr", "-c", "/srv/front/nginx.conf"]
  port "http" { port = 80 }
  file "/srv/front/nginx.conf" {
    content = <<-EOT
      ${local.common}
      http {
        ${local.http}
        server {
          listen 80;
          location /healthz { return 204; }
          location / { proxy_pass http://${service.web.cluster_ip}; }
        }
      }
    EOT
  }
  ready {
    exec   = ["curl", "--silent", "--fail", "--max-time", "2", "http://localhost/healthz"]
    within = "20s"
  }
}

pod "stranger" {}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

service "front" {
  type                    = "NodePort"
  selector                = { app = "front" }
  external_traffic_policy = "Cluster"
  port "http" {
    port      = 80
    node_port = 30080
  }
}

policy "web-from-front" {
  pod_selector = { app = "web" }
  policy_types = ["Ingress"]
  ingress {
    from { pod_selector = { app = "front" } }
    port { port = 8080 }
  }
}

expect "the front reaches each web server, which sees its address" {
  from   = pod.front
  to     = service.web
  answer = pod.web
  source = pod.front.ip
}

expect "a page comes through both" {
  from = client.laptop
  to   = "${node.node1.ip}:30080"
  http {
    path   = "/"
    status = 200
    header = { Content-Type = "text/html" }
  }
}

expect "it is the front that answers" {
  from   = client.laptop
  to     = "${node.node1.ip}:30080"
  answer = pod.front
}

expect "nobody else reaches the web servers" {
  from    = [pod.stranger, client.laptop]
  to      = pod.web
  outcome = "timeout"
}
