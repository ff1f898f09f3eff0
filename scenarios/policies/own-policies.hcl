# What you will see: policies by an agent of your own. The plan has no rules for them; a shell
# script in every node makes the few that this one policy takes. The claims are predicted from
# the rules of the style that it is measured by, and the packets go through those of the script.
#
#   api ──▶ FORWARD ▶ GUARD ──▶ db        web ──▶ FORWARD ▶ GUARD ▶ DROP
#
# What to try: netlab reach on the running lab; take the DROP rule away, and run it again; let
# another pod in by the policy, and see which claims fail, since the script does not read it.
#
# The proof: "nobody else does", through rules that no plan has.

proxy {
  mode = "none"
}

policies {
  style   = "exec"
  like    = "kube-router"
  command = ["sh", "/guard.sh"]
  env     = { DB = pod.db.ip, API = pod.api.ip }
  restart = "always"

  file "/guard.sh" {
    content = <<-EOT
      echo "I guard $DB on $NODE_NAME"
      iptables-restore --noflush <<RULES || exit
      *filter
      :GUARD - [0:0]
      -A GUARD -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN
      -A GUARD -d $DB ! -s $API -j DROP
      COMMIT
      RULES
      iptables -C FORWARD -j GUARD 2>/dev/null || iptables -I FORWARD -j GUARD || exit
      touch /run/ready
      exec sleep inf
    EOT
  }

  ready {
    exec = ["test", "-e", "/run/ready"]
  }
}

node "node1" {}
node "node2" {}

pod "db" {
  node   = node.node1
  labels = { app = "db" }
  port "sql" { port = 5432 }
}

pod "api" {
  node   = node.node2
  labels = { app = "api" }
}

pod "web" {
  node = node.node2
}

pod "neighbour" {
  node = node.node1
}

policy "db" {
  pod_selector = { app = "db" }
  ingress {
    from {
      pod_selector = { app = "api" }
    }
  }
}

expect "the api reaches the database" {
  from   = pod.api
  to     = pod.db
  answer = pod.db
}

expect "nobody else does" {
  from    = [pod.web, pod.neighbour, node.node2]
  to      = pod.db
  outcome = "timeout"
}

expect "but the pod's own node" {
  from   = node.node1
  to     = pod.db
  answer = pod.db
}
