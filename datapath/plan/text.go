package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Text is the plan as commands of ip, bridge, sysctl and iptables-restore, in canonical
// order: pasted into a root shell it builds the lab, except for agents. Equal plans
// have equal texts, on every machine.
func (p *Plan) Text() []byte {
	return text(p.Steps())
}

// Lines returns the changes as lines that can be pasted into a shell. Restore input
// takes several lines, as a here-document.
func (c Changes) Lines() []string { return Lines(c.Steps()) }

// Lines returns steps as lines that can be pasted into a shell.
func Lines(steps []Step) []string {
	text := strings.TrimSuffix(string(text(steps)), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Digest is the SHA-256 of the plan's text in hexadecimal.
func (p *Plan) Digest() string {
	sum := sha256.Sum256(p.Text())
	return hex.EncodeToString(sum[:])
}

// String is the first command of the step, for messages.
func (s *Step) String() string {
	w := textWriter{netns: s.Netns, bare: true}
	s.Item.write(&w, s)
	first, _, _ := strings.Cut(string(w.b), "\n")
	return first
}

func text(steps []Step) []byte {
	var w textWriter
	for i := range steps {
		s := &steps[i]
		before, netns, origin := len(w.b), w.netns, w.origin
		w.enter(s)
		entered := len(w.b)
		if s.Item.write(&w, s); len(w.b) == entered {
			w.b, w.netns, w.origin = w.b[:before], netns, origin // nothing to show
		}
	}
	return w.b
}

// textWriter writes commands.
type textWriter struct {
	b      []byte
	netns  string
	origin Origin
	bare   bool // without comments
}

// enter starts the steps of another namespace with an empty line. Removed ones need
// none in between.
func (w *textWriter) enter(s *Step) {
	netns := s.Netns
	if _, ok := s.Item.(*Removal); ok {
		netns = ""
	}
	if len(w.b) > 0 && netns != w.netns {
		w.b = append(w.b, '\n')
	}
	if netns != w.netns {
		w.origin = Origin{}
	}
	w.netns = netns
}

func (w *textWriter) linef(format string, args ...any) {
	w.b = append(fmt.Appendf(w.b, format, args...), '\n')
}

// from writes the object that the following lines serve, once for consecutive lines.
func (w *textWriter) from(o Origin) {
	if o != w.origin && !w.bare {
		w.origin = o
		w.b = o.AppendComment(w.b)
	}
}

// feed writes a command that runs in the namespace, with what body writes as a
// here-document. If body writes nothing, neither does feed.
func (w *textWriter) feed(command string, body func()) {
	before, origin := len(w.b), w.origin
	w.origin = Origin{}
	w.linef(command, w.netns)
	start := len(w.b)
	if body(); len(w.b) == start {
		w.b, w.origin = w.b[:before], origin
		return
	}
	w.b, w.origin = append(w.b, "EOF\n"...), Origin{}
}
