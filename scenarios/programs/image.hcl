# What you will see: pods with a root file system of their own, out of a container image on disk. Nothing is fetched, and no
# container engine runs: netlab unpacks image.tar, an OCI archive, once for all pods that use it. It holds a web server of a
# few kilobytes and its page, no shell and no library; what it runs, where, and with which environment, says the image.
#
# What to try: netlab plan image.hcl | grep exec; put an image of yours here (skopeo copy docker://nginx:alpine
# oci-archive:nginx.tar, or docker save -o nginx.tar nginx:alpine) and write image = "nginx.tar", with port 80 and
# service.own.ip as address; netlab exec --confined POD -- COMMAND then runs commands of the image.
#
# The proof: "the image says which program runs, and what it is told", and "a pod has its own copy of what it changes".

node "node1" {}
node "node2" {}

pod "shell" {}

pod "plain" {
  count  = 2
  labels = { app = "plain" }
  image  = "image.tar"
  port "http" { port = 8080 }
}

pod "own" {
  image = "image.tar"
  env   = { GREETING = "of-the-pod", PORT = "80" }
  port "http" { port = 80 }
  file "/srv/index.html" {
    content = "A page of the pod, over that of the image.\n"
  }
  ready { http = "/" }
}

service "plain" {
  selector = { app = "plain" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

expect "the image says which program runs, and what it is told" {
  from = pod.shell
  to   = pod.plain
  http {
    path   = "/"
    status = 200
    header = { X-Greeting = "of-the-image" }
  }
}

expect "a pod has its own copy of what it changes" {
  from = pod.shell
  to   = pod.own
  http {
    path   = "/"
    status = 200
    header = { X-Greeting = "of-the-pod" }
  }
}

expect "pods out of the image are endpoints as others are" {
  from   = pod.own
  to     = service.plain
  answer = pod.plain
  source = pod.own.ip
}
