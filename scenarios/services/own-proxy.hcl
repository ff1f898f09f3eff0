# What you will see: a proxy of your own. The plan has no rules for services; a shell script
# in every node makes them, from the addresses that this file gives it, as kube-proxy makes
# them from the API. The claims are predicted from the rules that netlab would make itself
# (like = "iptables"), and the packets go through those of the script.
#
#   laptop ──▶ node1:31380 ──▶ chain MY-PROXY of node1 ──▶ web on node2, which sees node1
#
# What to try: netlab rules node1; netlab logs node1; take the masquerade rule away, and see
# which claims fail; with a real kube-proxy: command = ["kube-proxy"], without file and ready,
# or netlab test --real kube-proxy=PATH scenarios/.
#
# The proof: "a node port answers outside", through rules that no plan has.

proxy {
  mode    = "exec"
  like    = "iptables"
  command = ["sh", "/proxy.sh", node.ip]
  env = {
    SERVICE   = "${service.web.cluster_ip}"
    NODE_PORT = "${service.web.node_port["http"]}"
    ENDPOINT  = "${pod.web.ip}:8080"
    POD_CIDR  = network.pod_cidr
  }

  restart = "always"

  file "/proxy.sh" {
    content = <<-EOT
      echo "I am the proxy of $NODE_NAME, $1"
      iptables-restore --noflush <<RULES || exit
      *nat
      :MY-PROXY - [0:0]
      -A MY-PROXY -p tcp -d $SERVICE --dport 80 ! -s $POD_CIDR -j MARK --or-mark 0x4000
      -A MY-PROXY -p tcp -d $SERVICE --dport 80 -j DNAT --to-destination $ENDPOINT
      -A MY-PROXY -p tcp --dport $NODE_PORT -m addrtype --dst-type LOCAL -j MARK --or-mark 0x4000
      -A MY-PROXY -p tcp --dport $NODE_PORT -m addrtype --dst-type LOCAL -j DNAT --to-destination $ENDPOINT
      -I PREROUTING -j MY-PROXY
      -I OUTPUT -j MY-PROXY
      -I POSTROUTING -m mark --mark 0x4000/0x4000 -j MASQUERADE
      COMMIT
      RULES
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

client "laptop" {}

pod "web" {
  node   = node.node2
  labels = { app = "web" }
  port "http" { port = 8080 }
}

pod "shell" {
  node = node.node1
}

service "web" {
  type     = "NodePort"
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
    node_port   = 31380
  }
}

expect "a node port answers outside" {
  from   = client.laptop
  to     = ["${node.node1.ip}:31380", "${node.node2.ip}:31380"]
  answer = pod.web
}

expect "a pod keeps its address at the cluster IP" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
  source = pod.shell.ip
}

expect "a process of a node is masqueraded" {
  from   = [node.node1, node.node2]
  to     = service.web
  answer = pod.web
}
