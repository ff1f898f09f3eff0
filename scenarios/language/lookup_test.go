package language

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/topology"
)

// laptop ─┬─ node1 ── web-0, web-1, same
//
//	├─ node2 ── db/db
//	└─ same
const namesLab = `
node "node1" {}
node "node2" {}
node "same" {}
client "laptop" {}
namespace "db" {}
pod "web" {
  count  = 2
  node   = node.node1
  labels = { app = "web" }
  port "http" { port = 8080 }
}
pod "same" { node = node.node1 }
pod "db" {
  namespace = namespace.db
  node      = node.node2
}
service "web" {
  selector = { app = "web" }
  port "http" {
    port        = 80
    target_port = "http"
  }
}
`

func TestDialersAreFoundByEachOfTheirNames(t *testing.T) {
	lab := loadText(t, namesLab, Options{}).Lab
	for name, want := range map[string]string{
		"node1": "node1", "node/node1": "node1", "node.node1": "node1",
		"laptop": "laptop", "client/laptop": "laptop", "client.laptop": "laptop",
		"web-0": "web-0", "pod/web-0": "web-0", "pod.web-0": "web-0", "default/web-0": "web-0",
		"pod/default/web-0": "web-0", `pod.web["0"]`: "web-0", "pod.web[1]": "web-1",
		"db": "db/db", "db/db": "db/db", "pod/db/db": "db/db",
		"node/same": "same", "pod/same": "same",
	} {
		if got, err := names.Dialer(lab, name); err != nil || got.Name != want {
			t.Errorf("%s: got %q, %v, want %s", name, got.Name, err, want)
		}
	}
}

func TestUnknownNamesComeWithAHint(t *testing.T) {
	lab := loadText(t, namesLab, Options{}).Lab
	for name, want := range map[string]string{
		"web-9": "did you mean web-0? known names: node1, node2, same, laptop, db/db, same, web-0, web-1",
		"zebra": "known names: node1,",
		"same":  "write one of: node/same, pod/same",
	} {
		_, err := names.Dialer(lab, name)
		if e := new(names.NameError); !errors.As(err, &e) || !strings.HasPrefix(e.Hint, want) {
			t.Errorf("%s: %v (hint %q), want the hint %q", name, err, e.Hint, want)
		}
	}
}

func TestListenersAreFoundByNameAndPort(t *testing.T) {
	lab := loadText(t, namesLab, Options{}).Lab
	web := lab.Services[0].ClusterIPs[0].String()
	for _, row := range []struct {
		name     string
		protocol topology.Protocol
		want     string // or the error
	}{
		{"web", "", "tcp " + web + ":80"},
		{"service/web", "", "tcp " + web + ":80"},
		{"default/web:http", "", "tcp " + web + ":80"},
		{"web:81", "udp", "udp " + web + ":81"},
		{"node1:30080", "", "tcp " + lab.Nodes[0].Addrs[0].String() + ":30080"},
		{"192.0.2.1:53", "udp", "udp 192.0.2.1:53"},
		{"web", "udp", `which port of "web"? it has 80/tcp "http"`},
		{"node1", "", `"node1" has no port; write node1:80`},
		{"192.0.2.1:99999", "", `"192.0.2.1:99999": "99999" is not a port number; write one from 1 to 65535`},
		{"db:80", "", "tcp " + lab.Pods[0].Addrs[0].String() + ":80"}, // of another namespace, and no other
		{"db/db:80", "", "tcp " + lab.Pods[0].Addrs[0].String() + ":80"},
		{"wbe", "", `nothing in this lab is called "wbe"`},
	} {
		got, protocol, err := names.Listener(lab, row.name, row.protocol)
		text := fmt.Sprint(protocol, " ", got.Addr)
		if err != nil {
			text = err.Error()
		}
		if text != row.want {
			t.Errorf("%s %s: got %s, want %s", row.name, row.protocol, text, row.want)
		}
	}
}
