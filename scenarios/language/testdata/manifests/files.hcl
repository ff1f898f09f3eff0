# Imported from testdata/manifests/files.yaml.

node "node1" {}
node "node2" {}
node "node3" {}

pod "app" {
  count    = 2
  workload = "Deployment"
  labels   = { app = "app" }
  port "tcp-80" { port = 80 }
  file "/etc/app/almost" {
    mode    = "0400"
    content = "x\n  EOT\ny\n"
  }
  file "/etc/app/app.conf" {
    mode    = "0400"
    content = <<EOT
listen $${port}
	path C:\tmp "%%{x}" $$${y} %%%{z} $

last
EOT
  }
  file "/etc/app/control" {
    mode    = "0400"
    content = "a\r\n\u0001\u007f\t\u2028 \u0000"
  }
  file "/etc/app/decomposed" {
    mode    = "0400"
    content = "é"
  }
  file "/etc/app/empty" {
    mode    = "0400"
    content = ""
  }
  file "/etc/app/open" {
    mode    = "0400"
    content = "x\ny"
  }
  file "/etc/app/script" {
    mode    = "0400"
    content = <<EOT
#!/bin/sh
echo hello
EOT
  }
  file "/etc/app/text" {
    mode    = "0400"
    content = "hello\n"
  }
  file "/usr/local/bin/hello" {
    mode    = "0755"
    content = <<EOT
#!/bin/sh
echo hello
EOT
  }
  file "/srv/both/app.conf" { content = "other" }
  file "/srv/both/more.conf" { content = "more" }
}

pod "db" {
  count     = 1
  hostname  = "db-${count.index}"
  subdomain = "db"
  workload  = "StatefulSet"
  labels    = { app = "db" }
  file "/etc/db/app.conf" { content = "other" }
  file "/etc/db/more.conf" { content = "more" }
}

# Not carried over:
#   testdata/manifests/files.yaml:20: noise of ConfigMap app: it is no text, and files of a lab are.
#   testdata/manifests/files.yaml:49: ConfigMap missing: the manifests do not have it in namespace default. Import the file that has it, too, or write optional: true.
#   testdata/manifests/files.yaml:55: ConfigMap app as environment variables: an agent has none. For a program with them, write command and env.
#   testdata/manifests/files.yaml:56: ConfigMap more as environment variables: an agent has none. For a program with them, write command and env.
#   testdata/manifests/files.yaml:68: /etc/app/app.conf: a pod has one file there, the one on line 58.
#   testdata/manifests/files.yaml:69: /srv/both/app.conf/x: a pod has /srv/both/app.conf, so the one cannot be a file and the other below it.
#   testdata/manifests/files.yaml:70: subPath nothing: the volume some has no such file, so a cluster makes an empty folder.
#   testdata/manifests/files.yaml:71: volumeMounts: the pod has no volume mising. Did you mean "missing"? Add it to volumes.
#   testdata/manifests/files.yaml:16: characters that are written as several: strings of a scenario have composed ones (Unicode, form C).
