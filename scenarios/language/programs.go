package language

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// command reads the command of a pod. Until its arguments are known, all that matters is
// that there is a command.
func (l *loader) command(s *topology.PodSpec) blocks.Value {
	return blocks.Value{Type: "list of strings", Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		s.Command = []string{""}
		l.then(func() {
			list := l.Strings(a, sc)
			if list == nil && !l.IsNull(a, sc) {
				return // reported, and nothing else that the pod says of its command
			}
			if s.Command = list; list != nil && (len(list) == 0 || list[0] == "") {
				l.Errorf(a.Expr.Range(), "Empty command", "The program of a command is empty. Write command = [\"sleep\", \"inf\"].")
			}
		})
	}}
}

// env reads the environment variables of a command.
func (l *loader) env(s *topology.PodSpec) blocks.Value {
	return blocks.Value{Type: "map of strings", Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		l.then(func() {
			l.Store(&s.Env, a, sc)
			for _, name := range slices.Sorted(maps.Keys(s.Env)) {
				if name == "" || strings.ContainsAny(name, "=\x00") {
					l.Errorf(a.Expr.Range(), "Invalid variable name", "An environment variable cannot be named %q: its name must not be empty, nor hold an equals sign. Rename it.", name)
				}
			}
		})
	}}
}

// program reads the blocks about the command of a pod.
func (l *loader) program(c *blocks.Content, s *topology.ProgramSpec) {
	files := c.Named("file")
	s.Files = make([]topology.FileSpec, len(files)) // whose elements are read later
	for i, b := range files {
		s.Files[i].Path, s.Files[i].Origin = b.Label, b.Origin()
		l.Read(b, l.fileTable(&s.Files[i]))
	}
	if b := l.Option(c, "ready"); b != nil {
		s.Ready.Origin = b.Origin()
		l.Read(b, l.readyTable(&s.Ready))
	}
}

// fileSource reads the file that a source names.
func (l *loader) fileSource(s *topology.FileSpec) blocks.Value {
	return blocks.Value{Type: "path", Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		l.then(func() {
			s.Source = l.Text(a, sc)
			s.Source.Origin = blocks.Written("", a).Origin
			if !s.Source.Set {
				return
			}
			text, err := l.files.Text(s.Source.Value)
			if err != nil {
				l.Errorf(a.Expr.Range(), "Unreadable file", "%v. Name a text file; its path starts in the folder of the scenario.", err)
			}
			s.Source.Value = text
		})
	}}
}
