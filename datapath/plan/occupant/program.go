package occupant

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/netlab/netlab/datapath/plan/origin"
	"github.com/netlab/netlab/datapath/plan/shell"
)

// Exec is a program that runs in the namespace as long as the lab does.
type Exec struct {
	Name  string   `json:"name"`           // of its pod, as agents are named
	Node  string   `json:"node,omitempty"` // the node that it runs on
	Argv  []string `json:"argv"`
	Env   []string `json:"env,omitempty"`     // KEY=value, sorted
	Dir   string   `json:"workDir,omitempty"` // its working directory; empty: the root directory
	Stdin string   `json:"stdin,omitempty"`   // what it reads from standard input
	// Image is its root file system; without one it sees some of the machine's.
	Image Image `json:"image,omitzero"`
	// Files are in its private file system; of the others it sees some, read-only.
	Files []File       `json:"files,omitempty"`
	Addrs []netip.Addr `json:"addresses,omitempty"` // of its pod
	// Listen is where it answers once it is ready.
	Listen []Listen `json:"listen,omitempty"`
	Ready  Ready    `json:"ready,omitzero"`
	// Restart starts it again whenever it ends.
	Restart bool `json:"restart,omitempty"`
	// NetAdmin lets it change the interfaces, routes and rules of its namespace.
	NetAdmin bool `json:"netAdmin,omitempty"`
	// Agent says that it does the work of rules of the plan in the namespace of its node, which
	// has what it makes there besides.
	Agent bool `json:"agent,omitempty"`
	// Needs are the features of the kernel that the rules need which it is measured by.
	Needs  []string   `json:"needs,omitempty"`
	State  string     `json:"-"` // only in programs read back, of one that ended: exited 3
	Origin origin.Ref `json:"origin,omitzero"`
}

// Image is a container image on disk.
type Image struct {
	Name   string `json:"name"`   // as the scenario names it
	Path   string `json:"path"`   // of its folder or archive
	Digest string `json:"digest"` // of what is in it: sha256:…
}

// File is a file in the private file system of a program.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Mode    uint32 `json:"mode"` // permissions
	// Of is a file of the machine that is seen there, read-only, instead of a content.
	Of string `json:"of,omitempty"`
}

// Ready says when a program is ready: when it listens on all its ports, unless one of TCP,
// HTTP and Exec is set.
type Ready struct {
	TCP    uint16        `json:"tcp,omitempty"`  // it accepts connections to this port
	HTTP   string        `json:"http,omitempty"` // a GET request for this path succeeds
	Port   uint16        `json:"port,omitempty"` // of HTTP
	Exec   []string      `json:"exec,omitempty"` // this command succeeds
	Within time.Duration `json:"within,omitempty"`
	// Families are those for which kube-proxy must have written its rules, IPv4 and IPv6, besides
	// answering HTTP.
	Families []string `json:"families,omitempty"`
}

// Equal reports whether a program that runs is the wanted one.
func (a Exec) Equal(b Exec) bool {
	return a.State == b.State && a.Node == b.Node && slices.Equal(a.Argv, b.Argv) && slices.Equal(a.Env, b.Env) && a.Dir == b.Dir &&
		a.Stdin == b.Stdin && a.Image.Digest == b.Image.Digest && slices.Equal(a.Files, b.Files) && slices.Equal(a.Addrs, b.Addrs) && slices.Equal(a.Listen, b.Listen) &&
		a.Ready.same(b.Ready) && a.Restart == b.Restart && a.NetAdmin == b.NetAdmin && a.Agent == b.Agent && slices.Equal(a.Needs, b.Needs)
}

func (r Ready) same(s Ready) bool {
	return r.TCP == s.TCP && r.HTTP == s.HTTP && r.Port == s.Port && slices.Equal(r.Exec, s.Exec) && slices.Equal(r.Families, s.Families) && r.Within == s.Within
}

// Accepts reports whether the program is to listen on a port.
func (x *Exec) Accepts(protocol string, port uint16) bool {
	return slices.Contains(x.Listen, Listen{Protocol: protocol, Port: port})
}

// Awaits says what a program is waited for.
func (x *Exec) Awaits() string {
	switch r := x.Ready; {
	case r.TCP != 0:
		return fmt.Sprintf("accept connections on tcp port %d", r.TCP)
	case r.HTTP != "":
		text := fmt.Sprintf("answer GET %s on port %d", r.HTTP, r.Port)
		if len(r.Families) > 0 {
			text += " and write rules for " + strings.Join(r.Families, " and ")
		}
		return text
	case len(r.Exec) > 0:
		return "pass " + shell.Words(r.Exec)
	case len(x.Listen) > 0:
		return "listen on " + listenWords(x.Listen)
	}
	return "start"
}

// Words describes the program, for plans and findings.
func (x Exec) Words() string {
	text := x.Name + ": " + shell.Words(slices.Concat(x.Env, x.Argv))
	if x.Dir != "" {
		text += ", in " + shell.Quote(x.Dir)
	}
	if x.Image.Digest != "" {
		text += ", image " + shell.Quote(x.Image.Name) + " " + x.Image.Digest
	}
	if len(x.Listen) > 0 {
		text += ", listens on " + listenWords(x.Listen)
	}
	if x.Stdin != "" {
		text += ", reads " + sumOf(x.Stdin)
	}
	for _, f := range x.Files {
		text += ", file " + f.words()
	}
	if !x.Ready.same(Ready{Within: x.Ready.Within}) {
		text += ", ready when it can " + x.Awaits()
	}
	if x.Restart {
		text += ", restarts"
	}
	if x.NetAdmin {
		text += ", may change its network"
	}
	if x.Agent {
		text += ", in place of rules of the plan"
	}
	if len(x.Needs) > 0 {
		text += ", needs " + strings.Join(x.Needs, ", ")
	}
	return text
}

// sumOf identifies a text.
func sumOf(text string) string {
	return fmt.Sprintf("sha256:%.4x (%d bytes)", sha256.Sum256([]byte(text)), len(text))
}
