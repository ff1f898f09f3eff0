# What you will see: three programs of your own, in files of this scenario, as pods. A database takes its time to start; an API
# server that needs it ends until it is there, and is started again; a name server answers only
# questions that it understands.
#
# What to try: netlab up own-programs.hcl; netlab logs; netlab inspect; netlab exec dns -- curl -s api:8080/greeting
#
# The proof: "it answers from the database". A claim is about the path, whatever a program answers: over TCP the program accepts the connection, over UDP the
# datagram reaches it. Who answered, and whom it saw, is observed beside the program.

node "node1" {}
node "node2" {}

client "laptop" {}

pod "db" {
  node    = node.node1
  labels  = { app = "db" }
  command = ["perl", "-w", "db.pl"]
  stdin   = "greeting=Hello\n"
  port "db" { port = 5432 }
  work_dir = "/srv/db"
  file "/srv/db/db.pl" {
    content = <<-EOT
      use IO::Socket::INET;
      my %row = map { chomp; split /=/ } <STDIN>;
      sleep 1;
      my $s = IO::Socket::INET->new(Listen => 10, LocalPort => 5432, ReuseAddr => 1) or die "listen: $!";
      while (my $c = $s->accept) {
        my $key = <$c> // "";
        chomp $key;
        print $c $row{$key} // "no such key", "\n";
        close $c;
      }
    EOT
  }
}

pod "api" {
  node    = node.node2
  labels  = { app = "api" }
  command = ["/srv/api/api"]
  env     = { DB = service.db.cluster_ip }
  restart = "always"
  port "http" { port = 8080 }
  file "/srv/api/api" {
    mode    = "0755"
    content = <<-EOT
      #!/usr/bin/perl -w
      use IO::Socket::INET;
      sub db { IO::Socket::INET->new(PeerAddr => "$ENV{DB}:5432", Timeout => 1) }
      db() or die "no database yet: $@\n";
      my $s = IO::Socket::INET->new(Listen => 10, LocalPort => 8080, ReuseAddr => 1) or die "listen: $!";
      while (my $c = $s->accept) {
        my $line = <$c> // "";
        my ($key) = $line =~ m{^GET /(\S+) HTTP};
        while (defined(my $field = <$c>)) { last if $field =~ /^\r?$/ }
        my $db = $key ? db() : undef;
        print $db "$key\n" if $db;
        my $text = $db ? <$db> : "who are you?\n";
        print $c "HTTP/1.0 " . ($key ? "200 OK" : "400 Bad Request") . "\r\nX-Program: api\r\n\r\n$text";
        close $c;
      }
    EOT
  }
  file "/srv/api/lab.hcl" { source = "own-programs.hcl" }
  ready {
    http   = "/greeting"
    port   = "http"
    within = "20s"
  }
}

pod "dns" {
  node    = node.node1
  labels  = { app = "dns" }
  command = ["perl", "-w", "/srv/dns.pl"]
  port "dns" {
    port     = 53
    protocol = "udp"
  }
  port "health" { port = 8053 }
  file "/srv/dns.pl" {
    content = <<-EOT
      use IO::Socket::INET;
      my $dns = IO::Socket::INET->new(Proto => "udp", LocalPort => 53) or die "udp: $!";
      my $health = IO::Socket::INET->new(Listen => 5, LocalPort => 8053, ReuseAddr => 1) or die "tcp: $!";
      if (fork) { while (my $c = $health->accept) { close $c } }
      while (1) {
        $dns->recv(my $question, 512);
        $dns->send("192.0.2.1\n") if $question eq "A web\n";
      }
    EOT
  }
  ready { tcp = "health" }
}

service "db" {
  selector = { app = "db" }
  port "db" { port = 5432 }
}

service "api" {
  selector = { app = "api" }
  port "http" { port = 8080 }
}

service "dns" {
  selector = { app = "dns" }
  port "dns" {
    port     = 53
    protocol = "udp"
  }
}

policy "db-from-api" {
  pod_selector = { app = "db" }
  policy_types = ["Ingress"]
  ingress {
    from { pod_selector = { app = "api" } }
    port { port = 5432 }
  }
}

expect "the API server reaches the database, which sees its address" {
  from   = pod.api
  to     = service.db
  answer = pod.db
  source = pod.api.ip
}

expect "it answers from the database" {
  from = pod.dns
  to   = service.api
  http {
    path   = "/greeting"
    status = 200
    header = { X-Program = "api" }
  }
}

expect "the name server receives what it need not answer" {
  from     = [pod.api, pod.db]
  to       = service.dns
  protocol = "udp"
  answer   = pod.dns
  source   = each.from.ip
}

expect "nobody else reaches the database" {
  from    = [pod.dns, client.laptop]
  to      = pod.db
  outcome = "timeout"
}
