package vm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackagesAreRead(t *testing.T) {
	paragraphs := []string{`Package: linux-image-cloud-amd64
Version: 6.1.192-2
Installed-Size: 13
Depends: linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)
Description-en: Linux for cloud
 Depends: on nothing, this is text
Size: 1504

Package: an-older-one
Size: 1
`, `Package: linux-image-6.8.0-90-generic
Version: 6.8.0-90.91
Depends: kmod, linux-base (>= 4.5ubuntu1~16.04.1) | other, linux-modules-6.8.0-90-generic
Size: 15083970
`}
	var got []aptPackage
	for _, text := range paragraphs {
		p, err := parsePackage(text)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	want := []aptPackage{
		{Name: "linux-image-cloud-amd64", Version: "6.1.192-2", Bytes: 1504, UnpackedKiB: 13, Depends: []string{"linux-image-6.1.0-56-cloud-amd64"}},
		{Name: "linux-image-6.8.0-90-generic", Version: "6.8.0-90.91", Bytes: 15083970, Depends: []string{"kmod", "linux-base", "linux-modules-6.8.0-90-generic"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"linux-modules-6.8.0-90-generic"}, kernelParts(got[1])); diff != "" {
		t.Errorf("parts of Ubuntu's kernel, -want +got:\n%s", diff)
	}
	if got := kernelParts(aptPackage{Depends: []string{"linux-image-amd64", "linux-base"}}); len(got) > 0 {
		t.Errorf("%q contain no kernel", got)
	}
	if _, err := parsePackage("Package: x\nSize: many\n"); err == nil {
		t.Error("a size that is not a number is accepted")
	}
}

func TestSizesAreReadable(t *testing.T) {
	if got := megabytes(26713492); got != "27 MB" {
		t.Errorf("got %s", got)
	}
}
