# What you will see: do the policies of a shop's manifests do what their author thinks? The
# objects are in shop-manifests.yaml, as kubectl applies them; this file has only the machines
# and the claims, which refer to objects as if they were written here.
#
#   laptop ──▶ frontend ──▶ carts ──▶ store
#                 └──────── ✗ ────────▶
#
# What to try: netlab reach scenarios/manifests/shop-manifests.hcl; the YAML alone, with
# netlab reach scenarios/manifests/shop-manifests.yaml; netlab import on it, which prints the
# same as a scenario; a matchLabels that is wrong, and netlab explain for the packet.
#
# The proof: "only carts reach the store", "the office reaches the shop", and "the front end has
# its ConfigMap".

node "node1" {}
node "node2" {}
client "laptop" {}

import "shop-manifests.yaml" {}

expect "the office reaches the shop" {
  from   = client.laptop
  to     = [for n in node : "${n.ip}:30080"]
  answer = pod.frontend
}

expect "the front end reaches the carts" {
  from   = pod.frontend
  to     = service.shop-carts
  answer = pod.carts
}

expect "the front end has its ConfigMap" {
  run {
    on      = pod.frontend[0]
    command = ["cat", "/etc/frontend/backends.conf"]
    output  = "carts http://carts:7070\n# $${CARTS} is what the entrypoint of the image puts here."
  }
  run { # and nobody else does
    on      = pod.carts
    command = ["cat", "/etc/frontend/backends.conf"]
    status  = 1
    matches = "No such file"
  }
}

expect "only carts reach the store" {
  from   = pod.carts
  to     = [service.store, pod.store]
  answer = pod.store
}

expect "nobody else does" {
  from    = [pod.frontend, pod.agent, client.laptop]
  to      = pod.store
  outcome = "timeout"
}

expect "the namespace default has carts of its own" {
  from   = pod.agent
  to     = service.carts
  answer = pod.agent
}
