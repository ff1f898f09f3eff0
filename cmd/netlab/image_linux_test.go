package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/netlab/netlab/datapath/image/imagetest"
)

// nginxImage is nginx with a page, as images of it are made: its entrypoint runs it in the
// foreground, and its settings are files of the image.
func nginxImage(page string) imagetest.Image {
	const settings = `user root;
daemon off;
error_log stderr;
pid /run/nginx.pid;
events {}
http {
  access_log /dev/stdout;
  client_body_temp_path /var/cache/nginx/body;
  server {
    listen 80;
    root /srv/pages;
    add_header X-Image nginx;
  }
}
`
	return imagetest.Image{
		Config:   v1.Config{Entrypoint: []string{"nginx"}, Cmd: []string{"-e", "stderr", "-c", "/etc/nginx.conf"}, Env: []string{"PATH=/usr/sbin:/usr/bin", "LAYER=below"}, WorkingDir: "/srv"},
		Programs: []string{"nginx", "sh", "cat", "rm", "env"},
		Files: map[string]string{"/etc/passwd": "root:x:0:0::/:/bin/sh\n", "/etc/group": "root:x:0:\nnogroup:x:65534:\n", "/etc/nginx.conf": settings,
			"/srv/pages/index.html": page, "/var/cache/nginx/kept": "", "/var/lib/nginx/kept": ""},
	}
}

const imageLab = `node "node1" {}
node "node2" {}
pod "web" {
  count  = 2
  labels = { app = "web" }
  image  = IMAGE
  env    = { GREETING = "hello" }
  port "http" { port = 80 }
}
pod "shell" {}
service "web" {
  selector = { app = "web" }
  port "http" { port = 80 }
}
expect "nginx answers from its image" {
  from = pod.shell
  to   = pod.web
  http {
    path   = "/"
    status = 200
    header = { X-Image = "nginx" }
  }
}
expect "as endpoints of a service" {
  from   = pod.shell
  to     = service.web
  answer = pod.web
}
`

// Two pods run nginx out of one image on disk, an archive or a folder: each sees the image's
// files and nothing of the machine, and what it writes is its own. Another image restarts them.
func TestPodsWithAnImage(t *testing.T) {
	t.Parallel()
	for form, write := range map[string]func(imagetest.Image, testing.TB, string){"archive": imagetest.Image.Archive, "folder": imagetest.Image.Folder} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			write(nginxImage("first"), t, filepath.Join(p.dir, "first"))
			p.write("a.hcl", strings.ReplaceAll(imageLab, "IMAGE", `"first"`))
			digest := regexp.MustCompile(`exec web-0: .*nginx -e stderr .*, image first (sha256:[0-9a-f]{64}),`).FindStringSubmatch(p.netlab("plan", "a.hcl"))
			if digest == nil {
				t.Fatalf("the plan names no image:\n%s", p.netlab("plan", "a.hcl"))
			}
			p.upOrSkip("a.hcl")
			p.netlab("test", "a.hcl")
			inside := func(pod, script string) string {
				t.Helper()
				return strings.TrimSpace(p.netlab("exec", "--confined", pod, "--", "sh", "-c", script))
			}
			own := p.write("machine", "of the machine")
			for script, want := range map[string]string{
				"cat /srv/pages/index.html":            "first",
				"echo $GREETING $LAYER":                "hello below",
				"test -e " + own + " || echo not seen": "not seen",
				"test -e /usr/bin/env && test ! -e /usr/bin/go && test ! -e /home && echo of the image": "of the image",
			} {
				if got := inside("web-0", script); got != want {
					t.Errorf("%s: %q, want %q", script, got, want)
				}
			}
			if !strings.Contains(inside("web-0", "cat /etc/hosts"), "web-1") {
				t.Error("the names of the lab are not in its /etc/hosts")
			}
			// Without the rights of root in its cell, a user's command writes what is its owner's.
			if got := inside("web-0", "echo mine >/srv/pages/index.html; rm /etc/group; cat /srv/pages/index.html"); got != "mine" {
				t.Errorf("it wrote %q", got)
			}
			if got := inside("web-1", "cat /srv/pages/index.html; test -e /etc/group && echo kept"); got != "first\nkept" && got != "firstkept" {
				t.Errorf("the other pod sees %q", got)
			}
			if got := p.netlab("status"); got != "a: as planned\n" {
				t.Errorf("status: %s", got)
			}
			if got := p.netlab("up", "a.hcl"); got != "a: no change\n" {
				t.Errorf("up again: %s", got)
			}
			write(nginxImage("second"), t, filepath.Join(p.dir, "second"))
			p.write("a.hcl", strings.ReplaceAll(imageLab, "IMAGE", `"second"`))
			p.netlab("up", "a.hcl")
			if got := inside("web-0", "cat /srv/pages/index.html"); got != "second" {
				t.Errorf("with another image: %q", got)
			}
			p.netlab("test", "a.hcl")
			p.netlab("down")
			p.expectNothing()
		})
	}
}

// What is wrong with an image only when it is unpacked ends up with its place, and leaves
// nothing; a running lab stays as it was.
func TestADamagedImage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	nginxImage("first").Folder(t, filepath.Join(p.dir, "good"))
	nginxImage("second").Folder(t, filepath.Join(p.dir, "bad"))
	largest := ""
	blobs, _ := filepath.Glob(filepath.Join(p.dir, "bad/blobs/sha256/*"))
	size := int64(0)
	for _, b := range blobs {
		if info, err := os.Stat(b); err == nil && info.Size() > size {
			largest, size = b, info.Size()
		}
	}
	if err := os.Truncate(largest, size/2); err != nil {
		t.Fatal(err)
	}
	p.write("a.hcl", strings.ReplaceAll(imageLab, "IMAGE", `"bad"`))
	r := p.try("up", "a.hcl")
	if r.status == 0 || !strings.Contains(r.err, "a.hcl:3: the program of pod web-0 cannot have its image bad: layer 1 of 1:") || !strings.Contains(r.err, "save the image again") {
		t.Errorf("up: exit status %d\n%s", r.status, r.err)
	}
	p.expectNothing()
	p.write("a.hcl", strings.ReplaceAll(imageLab, "IMAGE", `"good"`))
	p.upOrSkip("a.hcl")
	p.write("a.hcl", strings.ReplaceAll(imageLab, "IMAGE", `"bad"`))
	if r := p.try("up", "a.hcl"); r.status == 0 {
		t.Error("the damaged image is accepted in a running lab")
	}
	p.write("a.hcl", strings.ReplaceAll(imageLab, "IMAGE", `"good"`))
	if got := p.netlab("up", "a.hcl"); got != "a: no change\n" {
		t.Errorf("up again: %s", got)
	}
	p.netlab("test", "a.hcl")
	p.netlab("down")
	p.expectNothing()
}
