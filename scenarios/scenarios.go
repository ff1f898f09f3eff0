// Package scenarios holds the labs that ship, in folders by subject, so that the command
// can list them and write them into any folder. Their language is in scenarios/language.
package scenarios

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed *.hcl */*.hcl */*.yaml */*.tar
var files embed.FS

// Lab is a scenario that ships.
type Lab struct {
	Name string // local-policy: no two have the same
	Path string // below this folder: local-policy.hcl, policies/policy-ports.hcl
	// Shows is how it begins what it says about itself: a sentence, or two short ones.
	Shows string
	Text  []byte
	// Manifest is the file of its name that ends in .yaml, which it imports; nil: there is none.
	Manifest []byte
	// Image is the file of its name that ends in .tar, which its pods run; nil: there is none.
	Image []byte
}

// Files are those that the lab is made of, by name.
func (l Lab) Files() map[string][]byte {
	out := map[string][]byte{l.Name + ".hcl": l.Text}
	if l.Manifest != nil {
		out[l.Name+".yaml"] = l.Manifest
	}
	if l.Image != nil {
		out[l.Name+".tar"] = l.Image
	}
	return out
}

// All returns the labs in the order of their paths, those of no folder first.
func All() []Lab {
	var top, rest []Lab
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".hcl" {
			return err
		}
		text, err := files.ReadFile(p)
		lab := Lab{Name: strings.TrimSuffix(path.Base(p), ".hcl"), Path: p, Shows: shows(string(text)), Text: text}
		lab.Manifest, _ = files.ReadFile(strings.TrimSuffix(p, ".hcl") + ".yaml") // most have none
		lab.Image, _ = files.ReadFile(strings.TrimSuffix(p, ".hcl") + ".tar")
		if lab.Subject() == "" {
			top = append(top, lab)
		} else {
			rest = append(rest, lab)
		}
		return err
	})
	if err != nil {
		panic(err) // what is embedded can be read
	}
	return append(top, rest...)
}

// Find returns a lab by its name or its path, with .hcl or without.
func Find(name string) (Lab, bool) {
	name = strings.TrimSuffix(strings.TrimPrefix(path.Clean(name), "scenarios/"), ".hcl")
	for _, lab := range All() {
		if name == lab.Name || name == strings.TrimSuffix(lab.Path, ".hcl") {
			return lab, true
		}
	}
	return Lab{}, false
}

// Subject is the folder of the lab; empty: none.
func (l Lab) Subject() string {
	return strings.TrimSuffix(strings.TrimSuffix(l.Path, path.Base(l.Path)), "/")
}

// Tour returns the labs of the guided tour, in the order of its steps.
func Tour() []Lab {
	return slices.DeleteFunc(All(), func(l Lab) bool { return l.Subject() != "tour" })
}

// Title is the lab's name as words, without the number of a step.
func (l Lab) Title() string {
	return strings.ReplaceAll(strings.TrimLeft(l.Name, "0123456789-"), "-", " ")
}

// Says is what the file says about itself: the comment at its beginning, as text.
func (l Lab) Says() string {
	var b strings.Builder
	for line := range strings.Lines(string(l.Text)) {
		line, isComment := strings.CutPrefix(strings.TrimRight(line, "\n"), "#")
		if !isComment {
			break
		}
		b.WriteString(strings.TrimPrefix(line, " ") + "\n")
	}
	return b.String()
}

// enough is the length from which on a sentence says enough; a shorter one takes the next
// along.
const enough = 40

// shows is how the comment at the beginning of a file begins.
func shows(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		line, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !isComment || strings.TrimSpace(line) == "" {
			break
		}
		words = append(words, strings.Fields(line)...)
	}
	all := strings.TrimPrefix(strings.Join(words, " "), "What you will see: ")
	for i := min(enough, len(all)); i < len(all); i++ {
		if end := strings.IndexByte(".?", all[i]); end >= 0 && (i+1 == len(all) || all[i+1] == ' ') {
			return strings.ToUpper(all[:1]) + all[1:i+1]
		}
	}
	return all
}
