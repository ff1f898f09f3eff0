package vm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTreeIsWrittenParentsFirst(t *testing.T) {
	source := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(source, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tree := newTree()
	tree.file("/sbin/tool", 0o755, source) // ends up below the target of /sbin
	tree.text("/etc/deep/file", 0o640, []byte("12345"))
	tree.dir("/tmp", 0o1777)
	tree.dir("/bin", 0o755) // stays a link
	var out bytes.Buffer
	if err := writeCPIO(&out, tree); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"120777 bin -> usr/bin", "40755 etc", "40755 etc/deep", "100640 etc/deep/file 12345",
		"120777 lib -> usr/lib", "120777 lib64 -> usr/lib64", "120777 sbin -> usr/sbin", "41777 tmp", "40755 usr",
		"40755 usr/bin", "40755 usr/lib", "40755 usr/lib64", "40755 usr/sbin", "100755 usr/sbin/tool #!/bin/sh\n",
	}
	if diff := cmp.Diff(want, readCPIO(t, out.Bytes())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if out.Len()%4 != 0 {
		t.Errorf("%d bytes are not a multiple of four", out.Len())
	}
}

func TestEqualTreesGiveEqualBytes(t *testing.T) {
	pack := func() []byte {
		tree := newTree()
		for i := range 50 {
			tree.text(fmt.Sprintf("/d%d/f", i), 0o644, []byte(strings.Repeat("x", i)))
		}
		var out bytes.Buffer
		if err := writeCPIO(&out, tree); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	if !bytes.Equal(pack(), pack()) {
		t.Error("two archives of one tree differ")
	}
}

func TestMissingFileOfATreeIsNamed(t *testing.T) {
	tree := newTree()
	tree.file("/etc/gone", 0o644, filepath.Join(t.TempDir(), "gone"))
	err := writeCPIO(&bytes.Buffer{}, tree)
	if err == nil || !strings.Contains(err.Error(), "/etc/gone") {
		t.Errorf("error %v does not name the file", err)
	}
}

// readCPIO lists an archive, as the kernel would read it: with its own handling of
// offsets, independent of the writer.
func readCPIO(t *testing.T, data []byte) []string {
	t.Helper()
	var list []string
	at := 0
	for {
		if string(data[at:at+6]) != "070701" {
			t.Fatalf("no magic at %d: %q", at, data[at:min(at+16, len(data))])
		}
		field := func(i int) int {
			n, err := strconv.ParseUint(string(data[at+6+8*i:at+14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		mode, size, length := field(1), field(6), field(11)
		name := string(data[at+110 : at+110+length-1])
		if data[at+110+length-1] != 0 {
			t.Fatalf("name %q does not end with a zero byte", name)
		}
		body := (at + 110 + length + 3) / 4 * 4
		content := string(data[body : body+size])
		at = (body + size + 3) / 4 * 4
		if name == "TRAILER!!!" {
			if at != len(data) {
				t.Errorf("%d bytes after the end", len(data)-at)
			}
			return list
		}
		line := fmt.Sprintf("%o %s", mode, name)
		switch {
		case mode&0o170000 == modeSymlink:
			line += " -> " + content
		case content != "":
			line += " " + content
		}
		list = append(list, line)
	}
}
