package labs

import (
	"fmt"

	"github.com/netlab/netlab/datapath/engine/inside"
)

// printPrograms lists some of the programs of a lab.
func (u ui) printPrograms(list []inside.Program, these func(inside.Program) bool) {
	for _, p := range list {
		if these(p) {
			u.Print("program of %s: %s\n", p.Name, inWords(p))
		}
	}
}

// inWords is the state of a program, and how often it was started again.
func inWords(p inside.Program) string {
	if p.Restarts > 0 {
		return fmt.Sprintf("%s, restarted %d ×", p.State, p.Restarts)
	}
	return p.State
}

// ended lists the programs of a lab that do not run.
func ended(list []inside.Program) (all []string) {
	for _, p := range list {
		if !p.Running && p.State != "starting" {
			all = append(all, p.Name+" "+inWords(p))
		}
	}
	return all
}
