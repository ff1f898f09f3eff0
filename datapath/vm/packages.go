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

// parsePackages reads the paragraphs that apt-cache show prints.
func parsePackages(text string) ([]aptPackage, error) {
	var list []aptPackage
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.TrimSpace(paragraph) == "" {
			continue
		}
		var p aptPackage
		for line := range strings.Lines(paragraph) {
			key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), ": ")
			if !ok || strings.HasPrefix(line, " ") {
				continue
			}
			var err error
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
				return nil, fmt.Errorf("apt-cache: %s: %w", strings.TrimSpace(line), err)
			}
		}
		if p.Name != "" {
			list = append(list, p)
		}
	}
	return list, nil
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
