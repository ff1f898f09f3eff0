package occupant

import (
	"fmt"
	"slices"

	"github.com/netlab/netlab/datapath/plan/origin"
	"github.com/netlab/netlab/datapath/plan/shell"
)

// PodFiles are the files of a pod in which an agent answers: what the commands see that a user
// runs there. Those of a program are its own (see Exec).
type PodFiles struct {
	Pod    string     `json:"pod"` // as agents are named
	Files  []File     `json:"files"`
	Origin origin.Ref `json:"origin,omitzero"`
}

// Equal reports whether the files of a pod differ in nothing but their origin.
func (p PodFiles) Equal(b PodFiles) bool { return slices.Equal(p.Files, b.Files) }

// Words describes the files, for plans and findings.
func (p *PodFiles) Words() string {
	text := p.Pod
	for i, f := range p.Files {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + f.words()
	}
	return text
}

// words describes a file by its path and a sum of its content.
func (f File) words() string {
	if f.Of != "" {
		return shell.Quote(f.Path) + " is " + shell.Quote(f.Of)
	}
	return fmt.Sprintf("%s mode %04o %s", shell.Quote(f.Path), f.Mode, sumOf(f.Content))
}
