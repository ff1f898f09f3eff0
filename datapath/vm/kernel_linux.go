package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/debian"
)

// MissingError says what this machine lacks to run a virtual one, and the command that
// installs it.
type MissingError struct {
	What string
	Hint string
}

func (e *MissingError) Error() string { return e.What }

// installHint is the command that installs programs.
func installHint(programs ...string) string {
	var packages []string
	for _, p := range programs {
		packages = append(packages, debian.Package(p))
	}
	slices.Sort(packages)
	return "install it: sudo apt-get update && sudo apt-get install --yes --no-install-recommends " + strings.Join(slices.Compact(packages), " ")
}

// Cache is the folder where kernels are kept. Root's is in /var/cache, readable by all;
// other users have their own.
func Cache() (string, error) {
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "netlab"), nil
	}
	if os.Geteuid() == 0 {
		return "/var/cache/netlab", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to store a kernel in: %w", err)
	}
	return filepath.Join(dir, "netlab"), nil
}

// NamedKernel is a kernel named by the user: its image, and the folder of its modules
// with modules.dep in it.
func NamedKernel(image, modules string) (Kernel, error) {
	for _, name := range []string{image, filepath.Join(modules, "modules.dep")} {
		if _, err := os.Stat(name); err != nil {
			return Kernel{}, err
		}
	}
	modules, err := filepath.Abs(modules)
	return Kernel{Image: image, Modules: modules, Release: filepath.Base(modules)}, err
}

// FindKernel returns the newest kernel in the cache of this user or of root, and
// downloads one if there is none. say gets progress messages about slow steps.
func FindKernel(ctx context.Context, say func(string)) (Kernel, error) {
	cache, err := Cache()
	if err != nil {
		return Kernel{}, err
	}
	for _, dir := range []string{cache, "/var/cache/netlab"} {
		if k, ok := newest(filepath.Join(dir, "kernels")); ok {
			return k, nil
		}
	}
	return download(ctx, filepath.Join(cache, "kernels"), say)
}

// newest returns the kernel most recently added to a cache.
func newest(dir string) (best Kernel, ok bool) {
	images, _ := filepath.Glob(filepath.Join(dir, runtime.GOARCH+"_*", "boot", "vmlinu[xz]-*"))
	var at int64
	for _, image := range images {
		_, release, _ := strings.Cut(filepath.Base(image), "-")
		root := filepath.Dir(filepath.Dir(image))
		k := Kernel{Image: image, Release: release, Version: filepath.Base(root), Modules: filepath.Join(root, "lib/modules", release)}
		info, err := os.Stat(filepath.Join(k.Modules, "modules.dep"))
		if err == nil && (!ok || info.ModTime().UnixNano() > at) {
			best, at, ok = k, info.ModTime().UnixNano(), true
		}
	}
	return best, ok
}

// download gets a kernel with the package manager, without installing it: that needs no
// privileges.
func download(ctx context.Context, dir string, say func(string)) (Kernel, error) {
	for _, program := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return Kernel{}, &MissingError{"no kernel: this machine has no " + program + ", with which netlab downloads Debian's",
				"name a kernel: --kernel /boot/vmlinuz-… --modules /lib/modules/…"}
		}
	}
	depmod, err := findProgram("depmod")
	if err != nil {
		return Kernel{}, &MissingError{"depmod is not installed", installHint("depmod")}
	}
	parts, err := resolve(ctx)
	if err != nil {
		return Kernel{}, err
	}
	var packed, unpacked int64
	for _, p := range parts {
		packed, unpacked = packed+p.Bytes, unpacked+p.UnpackedKiB*1024
	}
	home := filepath.Join(dir, runtime.GOARCH+"_"+strings.ReplaceAll(parts[0].Version, "/", "_"))
	say(fmt.Sprintf("downloading %s %s: %s, unpacked %s in %s; nothing is installed",
		parts[0].Name, parts[0].Version, megabytes(packed), megabytes(unpacked), home))
	work, err := roomFor(dir, packed+unpacked)
	if err != nil {
		return Kernel{}, &MissingError{"no place to store a kernel: " + err.Error(), "store it elsewhere: XDG_CACHE_HOME=FOLDER netlab vm …"}
	}
	defer os.RemoveAll(work)
	if err := fetch(ctx, work, parts); err != nil {
		return Kernel{}, err
	}
	if err := index(ctx, depmod, work); err != nil {
		return Kernel{}, err
	}
	// The temporary folder is private to its creator.
	if err := os.Chmod(work, 0o755); err != nil {
		return Kernel{}, err
	}
	if err := os.Rename(work, home); err != nil && !errors.Is(err, fs.ErrExist) {
		return Kernel{}, err // if it exists, another netlab was faster
	}
	k, ok := newest(dir)
	if !ok {
		return Kernel{}, fmt.Errorf("%s contains no kernel with modules", parts[0].Name)
	}
	return k, nil
}

// resolve asks the package manager which packages contain a small kernel.
func resolve(ctx context.Context) ([]aptPackage, error) {
	show := func(name string) (aptPackage, error) {
		text, err := tell(ctx, "", "apt-cache", "show", "--no-all-versions", name)
		if err != nil {
			return aptPackage{}, err
		}
		p, err := parsePackage(text)
		// Without a size it is installed here, but not available for download.
		if err == nil && p.Bytes == 0 {
			err = fmt.Errorf("apt-cache knows no package %s", name)
		}
		return p, err
	}
	for _, meta := range metaPackages(runtime.GOARCH) {
		top, err := show(meta)
		if err != nil {
			continue
		}
		var parts []aptPackage
		for queue := kernelParts(top); len(queue) > 0; queue = queue[1:] {
			if slices.ContainsFunc(parts, func(p aptPackage) bool { return p.Name == queue[0] }) {
				continue
			}
			p, err := show(queue[0])
			if err != nil {
				parts = nil
				break
			}
			parts, queue = append(parts, p), append(queue, kernelParts(p)...)
		}
		if len(parts) > 0 {
			return parts, nil
		}
	}
	return nil, &MissingError{"the package manager knows no kernel: its lists are missing or out of date", "update them: sudo apt-get update"}
}

// fetch downloads the packages into a folder and unpacks them there.
func fetch(ctx context.Context, dir string, parts []aptPackage) error {
	args := []string{"-q", "download"}
	if os.Geteuid() == 0 {
		args = append([]string{"-o", "APT::Sandbox::User=root"}, args...) // otherwise it warns that _apt cannot write here
	}
	for _, p := range parts {
		args = append(args, p.Name+"="+p.Version)
	}
	if _, err := tell(ctx, dir, "apt-get", args...); err != nil {
		return &MissingError{"the kernel cannot be downloaded: " + err.Error(), "check the network, and update the lists: sudo apt-get update"}
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, a := range archives {
		if _, err := tell(ctx, dir, "dpkg-deb", "-x", a, dir); err != nil {
			return err
		}
		if err := os.Remove(a); err != nil {
			return err
		}
	}
	return nil
}

// index creates modules.dep and related files.
func index(ctx context.Context, depmod, dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, "lib")); errors.Is(err, fs.ErrNotExist) {
		if err := os.Symlink("usr/lib", filepath.Join(dir, "lib")); err != nil {
			return err
		}
	}
	releases, err := os.ReadDir(filepath.Join(dir, "lib/modules"))
	if err != nil {
		return err
	}
	for _, r := range releases {
		if _, err := tell(ctx, "", depmod, "-b", dir, r.Name()); err != nil {
			return err
		}
	}
	return nil
}

// findProgram looks for a program in PATH, then where tools are.
func findProgram(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return filepath.Abs(p)
	}
	return findTool(name)
}

// findTool looks for a tool in the folders where tools are.
func findTool(name string) (string, error) {
	for _, dir := range toolDirs() {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

// tell runs a program and returns its output.
func tell(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// roomFor creates a temporary folder with room for that many bytes.
func roomFor(dir string, bytes int64) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if free := int64(s.Bavail) * s.Bsize; free < bytes {
		return "", fmt.Errorf("%s has %s free, but %s are needed", dir, megabytes(free), megabytes(bytes))
	}
	return os.MkdirTemp(dir, ".new-")
}
