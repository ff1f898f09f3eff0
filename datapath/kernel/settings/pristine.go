//go:build linux

package settings

import "github.com/netlab/netlab/datapath/kernel/procfs"

// Pristine is what the kernel gives a new namespace: the settings of its links, and others.
type Pristine struct {
	inet, inet6 []uint32
	settings    map[string]string
}

// New reads them in the calling thread's namespace, which is new. The settings of links are those
// of lo.
func New(proc *procfs.FS, inet, inet6 []uint32) (*Pristine, error) {
	p := &Pristine{inet: inet, inet6: inet6, settings: map[string]string{}}
	read := func(folder string, names []string) error {
		values, err := proc.GetAll(folder, names)
		for i, value := range values {
			p.settings[folder+"."+names[i]] = value
		}
		return err
	}
	for _, s := range settings {
		if err := read(s.folder, s.names); err != nil {
			return nil, err
		}
	}
	for _, tree := range neighTrees {
		if err := read(tree+".lo", resolving); err != nil {
			return nil, err
		}
	}
	return p, nil
}
