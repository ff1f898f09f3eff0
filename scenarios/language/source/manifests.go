package source

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// MaxManifest bounds a file of manifests, in bytes: kubectl prints a whole cluster as one.
const MaxManifest = 32 << 20

// IsManifest reports a file of Kubernetes objects.
func IsManifest(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml" || ext == ".json" && !IsScenario(name)
}

// readManifest reads a file of the folder, or the one that the user named.
func (in *Input) readManifest(c *Collector, name string) {
	read := in.Folders.ReadManifest
	if in.Single {
		read = func(name string) ([]byte, error) { return readFile(filepath.Join(in.Dir, name), MaxManifest) }
	}
	src, err := read(name)
	if err != nil {
		c.Errorf(hcl.Range{Filename: name}, "Cannot read manifest", "%s. Name a regular file that you can read.", Reason(err))
		return
	}
	in.Manifests, in.Sources[name] = append(in.Manifests, name), src
}

// ReadObjects reads the files and folders of manifests that the user named; "-" is standard
// input. The collector has the errors.
func ReadObjects(paths []string, stdin io.Reader) (*Input, *Collector) {
	in := &Input{Name: "import", Sources: map[string][]byte{}}
	if len(paths) == 1 {
		in.Name = ScenarioName(Absolute(paths[0]))
	}
	c := NewCollector("", in.Sources)
	add := func(name string, src []byte, err error) {
		if err != nil {
			c.Errorf(hcl.Range{}, "Cannot read manifest", "%s: %s. Name a regular file that you can read.", name, Reason(err))
			return
		}
		in.Manifests, in.Sources[name] = append(in.Manifests, name), src
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "-" && stdin != nil:
			src, err := readLimited(stdin, MaxManifest)
			add(Stdin, src, err)
		case err == nil && info.IsDir():
			folder := Folders{Dir: path}
			names, err := folder.Manifests(".")
			if err == nil && len(names) == 0 {
				c.Errorf(hcl.Range{}, "No manifest found", "%s has no file that ends in .yaml, .yml or .json. Name another folder, or a file.", path)
			}
			for _, name := range names {
				src, err := folder.ReadManifest(name)
				add(filepath.Join(path, name), src, err)
			}
		case err == nil && IsScenario(path):
			c.Errorf(hcl.Range{}, "Not a manifest", "%s is a scenario already. Name a file of Kubernetes objects.", path)
		default:
			src, err := readFile(path, MaxManifest)
			add(path, src, err)
		}
	}
	return in, c
}

// ReadManifest reads a file of objects by its path from the scenario's folder.
func (f Folders) ReadManifest(name string) ([]byte, error) { return f.read(name, MaxManifest) }

// Manifests are the files of objects that a pattern names, by their paths from the scenario's
// folder, sorted: of a folder all in it.
func (f Folders) Manifests(pattern string) ([]string, error) {
	if !filepath.IsLocal(pattern) {
		return nil, fmt.Errorf("it is outside of the scenario's folder")
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	pattern = path.Clean(filepath.ToSlash(pattern))
	if info, err := root.Stat(pattern); err == nil && info.IsDir() {
		pattern = path.Join(pattern, "*")
	}
	found, err := fs.Glob(root.FS(), pattern)
	return slices.DeleteFunc(found, func(name string) bool { return !IsManifest(name) || strings.HasPrefix(path.Base(name), ".") }), err
}

// hasManifests reports a folder with files of objects.
func hasManifests(dir string) bool {
	found, err := Folders{Dir: dir}.Manifests(".")
	return err == nil && len(found) > 0
}
