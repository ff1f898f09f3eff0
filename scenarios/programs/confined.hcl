# What you will see: two programs, and what they may do. A program of a scenario is nobody on
# this machine, whoever runs netlab: it listens on any port, but sees neither your files nor other processes, and
# cannot change its network. With net_admin it can, as a sidecar does that redirects what
# arrives; only in its own pod, and only that.
#
# What to try: netlab up confined.hcl; netlab exec shell -- curl -s plain; netlab exec shell -- curl -s sidecar;
# netlab exec --confined plain -- sh, and look around. It needs curl.
#
# The proof: "the program has what it needs, and no more", and "the sidecar may change its network".

locals {
  # Serves what it tried: 200 if all of it went as it should.
  server = <<-EOT
    use IO::Socket::INET;
    my $s = IO::Socket::INET->new(Listen => 10, LocalPort => 80, ReuseAddr => 1) or die "listen: $!";
    my %can = (
      "be root on this machine" => open(my $f, ">>", "/proc/sys/kernel/core_pattern"),
      "see your files"          => scalar(() = glob("/home/* /root/*")),
      "read passwords"          => -s "/etc/shadow",
      "see other processes"     => scalar(grep { $_ != $$ } map { m{(\d+)} } glob("/proc/[0-9]*")) > 2,
      "change its network"      => !system("ip address add 192.0.2.1/32 dev lo 2>/dev/null"),
    );
    my @want = split /,/, $ENV{WANT};
    my $right = join(",", sort grep { $can{$_} } keys %can) eq join(",", sort @want);
    my $text = join "", map { ($can{$_} ? "can " : "cannot ") . "$_\n" } sort keys %can;
    while (my $c = $s->accept) {
      while (defined(my $field = <$c>)) { last if $field =~ /^\r?$/ }
      print $c "HTTP/1.0 " . ($right ? "200 OK" : "500 Not as claimed") . "\r\n\r\n$text";
      close $c;
    }
  EOT
}

node "node1" {}

pod "plain" {
  command = ["perl", "/srv/server.pl"]
  env     = { WANT = "" }
  port "http" { port = 80 }
  file "/srv/server.pl" { content = local.server }
}

pod "sidecar" {
  command   = ["perl", "/srv/server.pl"]
  net_admin = true
  env       = { WANT = "change its network" }
  port "http" { port = 80 }
  file "/srv/server.pl" { content = local.server }
}

pod "shell" {}

expect "the program has what it needs, and no more" {
  from = pod.shell
  to   = pod.plain
  http {
    path   = "/"
    status = 200
  }
}

expect "the sidecar may change its network" {
  from = pod.shell
  to   = pod.sidecar
  http {
    path   = "/"
    status = 200
  }
}
