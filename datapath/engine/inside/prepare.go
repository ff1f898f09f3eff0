//go:build linux

package inside

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/debian"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/occupant"
)

// Prepare does what can go wrong with the programs of a plan before anything of the lab is
// changed: it looks for those of this machine, and unpacks images.
func Prepare(ctx context.Context, want *plan.Plan) error {
	if err := installed(want); err != nil {
		return err
	}
	return unpackImages(ctx, want)
}

// installed reports a program of the plan that this machine does not have, unless the
// scenario brings it along.
func installed(want *plan.Plan) error {
	for i := range want.Netns {
		for _, x := range want.Netns[i].Execs {
			if x.Image.Digest != "" {
				continue // it has its own
			}
			env := environment(&x)
			named := func(f occupant.File) bool { return filepath.Base(f.Path) == filepath.Base(x.Argv[0]) }
			path, err := lookPath(x.Argv[0], env)
			if err == nil && strings.Contains(path, "/") {
				if !filepath.IsAbs(path) {
					path = filepath.Join(orRoot(x.Dir), path)
				}
				_, err = os.Stat(path)
			}
			if err == nil || slices.ContainsFunc(x.Files, named) {
				continue
			}
			return &ProgramError{Pod: x.Name, File: x.Origin.File, Line: x.Origin.Line, Missing: x.Argv[0],
				Why: "cannot run: " + debian.NotInstalled(x.Argv[0])}
		}
	}
	return nil
}
