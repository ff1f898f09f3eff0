package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// self is the path of this program in the guest.
const self = "/usr/bin/netlab"

// image plans the guest's file system: this program as init, tools with their
// libraries, modules, and what the boot requires.
func image(m Machine, b Boot) (*tree, error) {
	t := newTree()
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t.file(self, 0o755, exe)
	t.link("/init", strings.TrimPrefix(self, "/"))
	skeleton(t)
	loads, err := addModules(t, m.Kernel)
	if err != nil {
		return nil, err
	}
	programs, err := addTools(t)
	if err != nil {
		return nil, err
	}
	for _, p := range b.Programs {
		programs = append(programs, addPath(t, p)...)
	}
	for _, f := range b.Files {
		if err := addFolder(t, f); err != nil {
			return nil, err
		}
	}
	for _, c := range b.Collect {
		if parent := filepath.Dir(c); !t.has(parent) {
			t.dir(parent, 0o755)
		}
	}
	if err := addLibraries(t, append(programs, exe)); err != nil {
		return nil, err
	}
	text, err := json.Marshal(orders{Jobs: b.Jobs, Collect: b.Collect, Env: m.environ(), Modules: loads})
	if err != nil {
		return nil, err
	}
	t.text(ordersFile, 0o644, text)
	return t, nil
}

// skeleton is what every system has.
func skeleton(t *tree) {
	for _, dir := range []string{"/proc", "/sys", "/dev", "/run", "/root", "/out", "/home", "/var/lib", "/var/lock", "/var/run", "/usr/local/bin"} {
		t.dir(dir, 0o755)
	}
	t.dir("/tmp", 0o1777)
	t.dir("/var/tmp", 0o1777)
	t.text("/etc/passwd", 0o644, []byte(accounts))
	t.text("/etc/group", 0o644, []byte(groups))
	t.text("/etc/hosts", 0o644, []byte("127.0.0.1 localhost\n::1 localhost\n127.0.1.1 netlab-vm\n"))
	t.text("/etc/resolv.conf", 0o644, nil) // so that labs can put their own over it
	t.text("/etc/hostname", 0o644, []byte("netlab-vm\n"))
	t.text("/etc/nsswitch.conf", 0o644, []byte("passwd: files\ngroup: files\nhosts: files\nprotocols: files\nservices: files\n"))
	t.dir("/home/tester", 0o777)
}

// addModules adds modules and their indexes, and returns those that init loads, in
// order.
func addModules(t *tree, k Kernel) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(k.Modules, "modules.dep"))
	if err != nil {
		return nil, fmt.Errorf("modules of kernel %s: %w", k.Release, err)
	}
	deps, err := parseDependencies(string(text))
	if err != nil {
		return nil, err
	}
	dir := "/lib/modules/" + k.Release
	for _, file := range deps.choose(wantedModules()) {
		t.file(dir+"/"+file, 0o644, filepath.Join(k.Modules, file))
	}
	indexes, err := filepath.Glob(filepath.Join(k.Modules, "modules.*"))
	if err != nil {
		return nil, err
	}
	for _, file := range indexes {
		t.file(dir+"/"+filepath.Base(file), 0o644, file)
	}
	var loads []string
	for _, name := range loadedModules() {
		for _, file := range deps.order(deps.find(name)) {
			if file != "" && !slices.Contains(loads, dir+"/"+file) {
				loads = append(loads, dir+"/"+file)
			}
		}
	}
	return loads, nil
}

// addTools adds the tools installed on this machine, and returns them with their
// plugins.
func addTools(t *tree) ([]string, error) {
	var programs, lacking []string
	for _, tool := range tools() {
		name, err := findTool(tool)
		if err != nil {
			if slices.Contains(required, tool) {
				lacking = append(lacking, tool)
			}
			continue
		}
		programs = append(programs, addPath(t, name)...)
	}
	if len(lacking) > 0 {
		return nil, &MissingError{"programs that the guest needs are not installed: " + strings.Join(lacking, ", "), installHint(lacking...)}
	}
	// The kernel starts this one by its path.
	if !t.has("/sbin/modprobe") {
		t.link("/sbin/modprobe", "../bin/modprobe")
	}
	for _, pattern := range append(pluginDirs(), configFiles()...) {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if err := addFolder(t, f); err != nil {
				return nil, err
			}
			if strings.HasSuffix(f, "xtables") {
				plugins, _ := filepath.Glob(f + "/*.so")
				programs = append(programs, plugins...)
			}
		}
	}
	return programs, nil
}

// addPath adds a file and every link on its path, and returns the files.
func addPath(t *tree, name string) []string {
	for range 16 { // a sensible limit for nested links
		info, err := os.Lstat(name)
		if err != nil {
			return nil
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			t.file(name, info.Mode(), name)
			return []string{name}
		}
		target, err := os.Readlink(name)
		if err != nil {
			return nil
		}
		t.link(name, target)
		if !filepath.IsAbs(target) {
			// If folders are links, .. is relative to their targets.
			dir, err := filepath.EvalSymlinks(filepath.Dir(name))
			if err != nil {
				return nil
			}
			target = filepath.Join(dir, target)
		}
		name = target
	}
	return nil
}

// largeFile is the size in bytes from which a file in a folder is left out: stray
// programs and archives that were not named.
const largeFile = 4 << 20

// addFolder adds a file, or a folder with all readable contents except large files and
// repositories.
func addFolder(t *tree, name string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	return filepath.WalkDir(real, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(real, p)
		if err != nil {
			return err
		}
		at := filepath.Join(name, rest)
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			t.dir(at, uint32(info.Mode().Perm()))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			t.link(at, target)
		case info.Mode().IsRegular() && (p == real || info.Size() <= largeFile):
			t.file(at, info.Mode(), p)
		}
		return nil
	})
}

// writeImage writes the file system to an unlinked file, so that it disappears with the
// last process that has it open, however that ends.
func writeImage(t *tree, dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "initrd-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		err = writeCPIO(f, t)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// probeImage is the file system of a machine that only reports that it booted.
func probeImage() (*tree, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := newTree()
	t.dir("/dev", 0o755)
	t.file("/init", 0o755, exe)
	return t, addLibraries(t, []string{exe})
}

// addLibraries adds what programs load when they start.
func addLibraries(t *tree, programs []string) error {
	needed, err := hostLibraries().closure(programs)
	for _, lib := range needed {
		addPath(t, lib)
	}
	return err
}
