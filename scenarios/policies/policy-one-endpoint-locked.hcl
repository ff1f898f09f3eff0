# What you will see: a policy that locks one of two endpoints, and a service that does not
# know. Nothing tells kube-proxy about policies, so half of the connections to the service
# still go to the locked pod, and time out. "It works when I try again" is the symptom.
#
# A claim is about every connection: outcome = "connected" fails here, however often packets
# happen to get through, since the rules allow a timeout. What is meant is said:
#
#   outcome   = { connected = 1, timeout = 1 }    half of them, within a quarter of that
#   sometimes = true                              some of them are as claimed
#
# What to try: netlab explain shell service.web shows both ways with their probabilities.
#
# The proof: "half of the connections time out".

node "node1" {}
node "node2" {}

pod "open" {
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "locked" {
  node   = node.node2
  labels = { app = "web", lock = "yes" }
  port "http" { port = 8080 }
}

service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}

pod "shell" { node = node.node1 }
pod "key" {
  node   = node.node2
  labels = { key = "yes" }
}

policy "locked" {
  pod_selector = { lock = "yes" }
  ingress {
    from { pod_selector = { key = "yes" } }
  }
}

expect "half of the connections time out" {
  from    = pod.shell
  to      = service.web
  outcome = { connected = 1, timeout = 1 }
  answer  = pod.open
}

expect "some of them are answered" {
  from      = pod.shell
  to        = service.web
  answer    = pod.open
  source    = pod.shell
  sometimes = true
}

expect "who has the key reaches both" {
  from   = pod.key
  to     = service.web
  answer = [pod.open, pod.locked]
}
