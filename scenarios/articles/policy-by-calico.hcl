# What you will see: the policy of a database on a node of Calico's, to the letter. Each name
# follows from what it is about: the host's end of a pod's link from namespace and pod, a chain
# from the policy, a set from its selector; and each rule has the hash of its chain so far. The
# chain of a pod accepts what belongs to a connection, asks its policies one after the other, and
# drops what none of them passed.
#
#   backend  10.88.0.27 ──▶ cali-tw-cali95aa86cbb2a ──▶ cali-pi-… ──in the set──▶ db
#   frontend 10.88.0.24 ──▶ cali-tw-cali95aa86cbb2a ──▶ cali-pi-… ──────────────▶ DROP
#
# What to try: netlab explain -f on this file frontend-8b474f47-zdqdv db-8d66ff5f7-bp6kf; netlab up,
# give the frontend the label, and netlab up again: a member more, and no rule.
#
# The proof: "the chain of the database", "the chain of the policy", "the set" and "the back end".

network {
  mode     = "routed"
  pod_cidr = "10.88.0.0/16"
}

policies { style = "calico" }

node "node0" {}
node "node1" {}

pod "app" {
  for_each = {
    backend-867fd6dff-mjf92   = "10.88.0.27"
    db-8d66ff5f7-bp6kf        = "10.88.0.26"
    frontend-8b474f47-zdqdv   = "10.88.0.24"
    backend-867fd6dff-another = "10.88.1.28"
  }
  name    = each.key
  node    = "node${split(".", each.value)[2]}"
  address = each.value
  labels  = merge({ app = split("-", each.key)[0] }, startswith(each.key, "backend") ? { "networking/allow-db-access" = "true" } : {})
  port "http" { port = 80 }
}

# Another policy, for the directions that the first one does not have.
policy "frontend-out" {
  pod_selector = { app = "frontend" }
  policy_types = ["Egress"]
  egress {}
}

policy "allow-db-access" {
  pod_selector = { app = "db" }
  policy_types = ["Ingress"]
  ingress {
    from { pod_selector = { "networking/allow-db-access" = "true" } }
  }
}

locals {
  db       = pod.app["db-8d66ff5f7-bp6kf"]
  backend  = pod.app["backend-867fd6dff-mjf92"]
  another  = pod.app["backend-867fd6dff-another"]
  frontend = pod.app["frontend-8b474f47-zdqdv"]
  link     = "cali95aa86cbb2a"
  policy   = "cali-pi-_tTE-E7yY40ogArNVgKt"
  set      = "cali40s:LrVD8vMIGQDyv8Y7sPFB1Ge"
}

expect "the back end" {
  proves = ["articles.94"]
  from   = [local.backend, local.another]
  to     = local.db
  answer = local.db
  source = each.from.ip
}

expect "the front end" {
  proves  = ["articles.94", "articles.95", "articles.111"]
  from    = local.frontend
  to      = local.db
  outcome = "timeout"
}

expect "a link for each pod, and an address" {
  proves = ["articles.97", "articles.98", "articles.145", "articles.158"]
  dynamic "route" {
    for_each = {
      "10.88.0.24/32" = "cali505cfbeac50"
      "10.88.0.26/32" = local.link
      "10.88.0.27/32" = "cali2b1490aa46a"
    }
    content {
      on  = node.node0
      to  = route.key
      dev = route.value
    }
  }
  interface {
    on      = local.db
    address = "10.88.0.26/32"
  }
}

expect "what enters one end of a link leaves by the other" {
  proves = ["articles.116"]
  from   = local.another
  to     = local.db
  answer = local.db
  seen {
    on          = node.node0
    interface   = local.link
    direction   = "out"
    source      = local.another
    destination = "${local.db.ip}:80"
  }
  seen {
    on          = local.db
    direction   = "in"
    source      = local.another
    destination = "${local.db.ip}:80"
  }
  seen {
    on          = node.node0
    interface   = local.link
    direction   = "in"
    source      = "${local.db.ip}:80"
    destination = local.another
  }
}

expect "the chain of the database" {
  proves = ["articles.99", "articles.100", "articles.101", "articles.102", "articles.103", "articles.107", "articles.159"]
  rules {
    on     = node.node0
    chain  = "cali-tw-${local.link}"
    equals = <<-EOT
      -A cali-tw-${local.link} -m comment --comment "cali:eCrqwxNk3cKw9Eq6" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
      -A cali-tw-${local.link} -m comment --comment "cali:_krp5nzavhAu5avJ" -m conntrack --ctstate INVALID -j DROP
      # the dump leaves this out
      -A cali-tw-${local.link} -m comment --comment "cali:Cu-tVtfKKu413YTT" -j MARK --set-xmark 0x0/0x10000
      # the dump again
      -A cali-tw-${local.link} -m comment --comment "cali:leBL64hpAXM9y4nk" -m comment --comment "Start of policies" -j MARK --set-xmark 0x0/0x20000
      -A cali-tw-${local.link} -m comment --comment "cali:pm-LK-c1ra31tRwz" -m mark --mark 0x0/0x20000 -j ${local.policy}
      -A cali-tw-${local.link} -m comment --comment "cali:q_zG8dAujKUIBe0Q" -m comment --comment "Return if policy accepted" -m mark --mark 0x10000/0x10000 -j RETURN
      -A cali-tw-${local.link} -m comment --comment "cali:FUDVBYh1Yr6tVRgq" -m comment --comment "Drop if no policies passed packet" -m mark --mark 0x0/0x20000 -j DROP
    EOT
  }
}

expect "the chain of the policy" {
  proves = ["articles.104", "articles.107", "articles.108", "articles.109"]
  rules {
    on     = node.node0
    chain  = local.policy
    equals = <<-EOT
      -A ${local.policy} -m comment --comment "cali:M4Und37HGrw6jUk8" -m set --match-set ${local.set} src -j MARK --set-xmark 0x10000/0x10000
      -A ${local.policy} -m comment --comment "cali:sEnlfZagUFRSPRoe" -m mark --mark 0x10000/0x10000 -j RETURN
    EOT
  }
}

expect "the set" {
  proves = ["articles.108", "articles.109", "articles.111"]
  rules {
    on     = node.node0
    set    = local.set
    equals = <<-EOT
      add ${local.set} 10.88.0.27
      add ${local.set} 10.88.1.28
    EOT
  }
}

expect "first where it comes from, then where it goes" {
  proves = ["articles.105"]
  rules {
    on     = node.node0
    chain  = "cali-FORWARD"
    equals = <<-EOT
      -A cali-FORWARD -i cali+ -m comment --comment "cali:X3vB2lGcBrfkYquC" -j cali-from-wl-dispatch
      -A cali-FORWARD -o cali+ -m comment --comment "cali:UtJ9FnhBnFbyQMvU" -j cali-to-wl-dispatch
    EOT
  }
}

expect "chains by direction" {
  proves = ["articles.106"]
  rules { # to a workload, a policy for what comes in
    on    = node.node0
    chain = "cali-tw-${local.link}"
    has   = "-j ${local.policy}"
    count = 1
  }
  rules { # from a workload without such a policy, its profile
    on    = node.node0
    chain = "cali-fw-${local.link}"
    has   = "-j cali-pro-kns.default"
    count = 1
  }
  rules { # from a workload, a policy for what goes out
    on    = node.node0
    chain = "cali-fw-cali505cfbeac50"
    has   = "-j cali-po-_uHzJv-60lMA5wvzCP-3"
    count = 1
  }
  rules { # and to it, its profile
    on    = node.node0
    chain = "cali-tw-cali505cfbeac50"
    has   = "-j cali-pri-kns.default"
    count = 1
  }
}
