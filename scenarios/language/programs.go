package language

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/datapath/image"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/source"
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

// image opens the image that a pod names.
func (l *loader) image(s *topology.PodSpec) blocks.Value {
	return blocks.Value{Type: "path", Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		s.Program.Image = blocks.Written(topology.Image{Command: []string{""}}, a)
		l.then(func() {
			name := l.Text(a, sc)
			if !name.Set {
				if l.IsNull(a, sc) {
					s.Program.Image = topology.Opt[topology.Image]{}
				}
				return
			}
			img, problem := l.opened(name.Value)
			if problem != "" {
				l.Errorf(a.Expr.Range(), "Unusable image", "%s", problem)
				return // and nothing else that the pod says of its program
			}
			s.Program.Image.Value = *img
		})
	}}
}

// opened is the image at a path, or what is wrong with it, as sentences.
func (l *loader) opened(name string) (*topology.Image, string) {
	if img := l.images[name]; img != nil {
		return img, ""
	}
	root, inside, err := l.files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Sprintf("There is no image at %q, and netlab has no registry: images are on disk, below the folder of the scenario. Save one there: skopeo copy docker://NAME oci-archive:NAME.tar, or docker save -o NAME.tar NAME.", name)
	}
	if err != nil {
		return nil, fmt.Sprintf("%q: %s. Name a folder or an archive that you can read, below the folder of the scenario.", name, source.Reason(err))
	}
	defer root.Close()
	opened, err := image.Open(root, inside)
	if other := new(image.PlatformError); errors.As(err, &other) {
		return nil, fmt.Sprintf("%q cannot run here: %v. Save the image for this platform: skopeo copy --override-os linux --override-arch %s.", name, err, runtime.GOARCH)
	}
	if err != nil {
		return nil, fmt.Sprintf("%q: %s. Save it again: skopeo copy docker://NAME oci-archive:NAME.tar, or docker save -o NAME.tar NAME.", name, source.Reason(err))
	}
	defer opened.Close()
	l.files.Note(name)
	img := &topology.Image{Name: name, Path: filepath.Join(root.Name(), inside), Digest: opened.Digest, Command: opened.Command, Env: opened.Env, WorkDir: opened.WorkDir}
	if len(img.Command) > 0 && img.Command[0] == "" {
		img.Command = nil
	}
	l.images[name] = img
	return img, ""
}

// env reads the environment variables of a command.
func (l *loader) env(to *map[string]string, at *topology.Origin) blocks.Value {
	return blocks.Value{Type: "map of strings", Read: func(_ *blocks.Reader, a *hcl.Attribute, sc blocks.Scope) {
		l.then(func() {
			if l.Store(to, a, sc); *to != nil {
				*at = blocks.Written("", a).Origin
			}
			for _, name := range slices.Sorted(maps.Keys(*to)) {
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
