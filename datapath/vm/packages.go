package vm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// aptPackage is what apt-cache show prints about a package.
type aptPackage struct {
	Name, Version string
	Bytes         int64 // of the archive
	UnpackedKiB   int64
	Depends       []string // names; of alternatives the first
}

// parsePackage reads the first paragraph that apt-cache show prints.
func parsePackage(text string) (p aptPackage, err error) {
	paragraph, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(paragraph) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch key {
		case "Package":
			p.Name = value
		case "Version":
			p.Version = value
		case "Size":
			p.Bytes, err = strconv.ParseInt(value, 10, 64)
		case "Installed-Size":
			p.UnpackedKiB, err = strconv.ParseInt(value, 10, 64)
		case "Depends":
			for one := range strings.SplitSeq(value, ",") {
				if words := strings.Fields(one); len(words) > 0 {
					p.Depends = append(p.Depends, words[0])
				}
			}
		}
		if err != nil {
			return p, fmt.Errorf("apt-cache: %s: %w", strings.TrimSpace(line), err)
		}
	}
	return p, nil
}

// kernelPackage matches the packages that contain a kernel or its modules. Debian has
// both in linux-image-VERSION, Ubuntu the modules in others.
var kernelPackage = regexp.MustCompile(`^linux-(image|modules)(-extra|-unsigned)?-[0-9]`)

// kernelParts are those dependencies of a package that contain a kernel or its modules.
func kernelParts(p aptPackage) []string {
	var list []string
	for _, d := range p.Depends {
		if kernelPackage.MatchString(d) && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// metaPackages are those that depend on a small kernel, the best first: Debian's, then
// Ubuntu's.
func metaPackages(arch string) []string {
	return []string{"linux-image-cloud-" + arch, "linux-image-" + arch, "linux-image-virtual", "linux-image-generic"}
}

// megabytes formats a size for reading.
func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
