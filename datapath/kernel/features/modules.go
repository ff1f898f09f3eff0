//go:build linux

package features

import (
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Loadable reports whether root of this machine could load a module that is not loaded
// yet: the running kernel can load modules, and this one is installed. In most containers
// it is not.
func Loadable(module string) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	return loadable(os.DirFS("/"), unix.ByteSliceToString(name.Release[:]), module)
}

func loadable(root fs.FS, release, module string) bool {
	exists := func(file string) bool {
		_, err := fs.Stat(root, file)
		return err == nil
	}
	list, err := fs.ReadFile(root, path.Join("lib/modules", release, "modules.dep"))
	if err != nil || !exists("proc/modules") || exists("sys/module/"+module) {
		return false
	}
	for line := range strings.Lines(string(list)) {
		file, _, _ := strings.Cut(line, ":")
		name, _, _ := strings.Cut(path.Base(file), ".ko")
		if strings.ReplaceAll(name, "-", "_") == module {
			return true
		}
	}
	return false
}
