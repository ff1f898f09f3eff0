package vm

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Bits of a file's mode as cpio and stat have them.
const (
	modeDir     = 0o040000
	modeFile    = 0o100000
	modeSymlink = 0o120000
)

// tree describes a file system to be created. Paths are absolute. A directory exists as
// soon as something is in it.
type tree struct{ entries map[string]entry }

// merged are directories that are links to those of the same name in /usr. Whatever is
// put below them ends up below the others.
var merged = []string{"bin", "sbin", "lib", "lib64"}

// entry is one thing in a tree: a directory, a link, text, or a file of this machine.
type entry struct {
	mode   uint32 // type and permissions
	text   string // or the target of a link
	source string // file of this machine; empty: text
}

func newTree() *tree {
	t := &tree{entries: map[string]entry{}}
	for _, name := range merged {
		t.link("/"+name, "usr/"+name)
		t.dir("/usr/"+name, 0o755)
	}
	return t
}

// place returns where a path ends up.
func (t *tree) place(name string) string {
	name = path.Clean("/" + name)
	if top, _, below := strings.Cut(name[1:], "/"); below && slices.Contains(merged, top) {
		return "/usr" + name
	}
	return name
}

func (t *tree) has(name string) bool {
	_, ok := t.entries[t.place(name)]
	return ok
}

func (t *tree) dir(name string, permissions uint32) {
	t.put(name, entry{mode: modeDir | permissions})
}

func (t *tree) link(name, target string) {
	t.put(name, entry{mode: modeSymlink | 0o777, text: target})
}

func (t *tree) text(name string, permissions uint32, text []byte) {
	t.put(name, entry{mode: modeFile | permissions, text: string(text)})
}

// file adds a file of this machine at a path.
func (t *tree) file(name string, permissions fs.FileMode, source string) {
	t.put(name, entry{mode: modeFile | uint32(permissions.Perm()), source: source})
}

func (t *tree) put(name string, e entry) {
	name = t.place(name)
	if name == "/" {
		return
	}
	if old, ok := t.entries[name]; ok && old.mode&^0o7777 != modeDir && e.mode&^0o7777 == modeDir {
		return // a link to a directory, or a file, stays as it is
	}
	t.entries[name] = e
	if parent := path.Dir(name); parent != "/" && !t.has(parent) {
		t.dir(parent, 0o755)
	}
}

// writeCPIO writes a tree in the "new ASCII" format of cpio, which is what kernels
// unpack (Documentation/driver-api/early-userspace/buffer-format.rst). Names are
// sorted, so that directories come before their contents; owner is root, and time 1, so
// that equal trees give equal bytes.
func writeCPIO(w io.Writer, t *tree) error {
	c := &cpio{w: bufio.NewWriterSize(w, 1<<20)}
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		if err := c.entry(strings.TrimPrefix(name, "/"), t.entries[name]); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := c.record("TRAILER!!!", 0, 0, strings.NewReader("")); err != nil {
		return err
	}
	return c.w.Flush()
}

// cpio is the state of writing.
type cpio struct {
	w     *bufio.Writer
	inode uint32
}

func (c *cpio) entry(name string, e entry) error {
	if e.source == "" {
		return c.record(name, e.mode, int64(len(e.text)), strings.NewReader(e.text))
	}
	f, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return c.record(name, e.mode, info.Size(), f)
}

func (c *cpio) record(name string, mode uint32, size int64, content io.Reader) error {
	if size > 1<<32-1 {
		return fmt.Errorf("%d bytes exceed the limit of cpio", size)
	}
	c.inode++
	links := 1
	if mode&^0o7777 == modeDir {
		links = 2
	}
	// magic, inode, mode, uid, gid, links, mtime, size, device of the file, of the
	// device node, length of the name with its zero byte, checksum
	n, err := fmt.Fprintf(c.w, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		c.inode, mode, 0, 0, links, 1, size, 0, 0, 0, 0, len(name)+1, 0, name)
	if err != nil {
		return err
	}
	c.pad(int64(n))
	copied, err := io.Copy(c.w, io.LimitReader(content, size))
	if err == nil && copied != size {
		err = fmt.Errorf("it shrank from %d to %d bytes while being read", size, copied)
	}
	c.pad(size)
	return err
}

// pad fills up to a multiple of four bytes.
func (c *cpio) pad(n int64) {
	_, _ = c.w.WriteString("\x00\x00\x00"[:(4-n%4)%4]) // the writer keeps the error
}
