package topology

import "time"

// ProgramSpec is what a pod block says of its command.
type ProgramSpec struct {
	WorkDir Opt[string]
	Stdin   Opt[string]
	Restart Opt[string] // always or never
	Files   []FileSpec
	Ready   ReadySpec
}

// FileSpec is a file block. Content and Source exclude each other.
type FileSpec struct {
	Path    string
	Content Opt[string]
	Source  Opt[string] // the content of the file that source names
	Mode    Opt[string] // octal
	Origin  Origin
}

// ReadySpec is a ready block.
type ReadySpec struct {
	TCP    Opt[string] // a port, by number or name
	HTTP   Opt[string] // a path
	Port   Opt[string] // of HTTP, by number or name
	Exec   Opt[[]string]
	Within Opt[time.Duration]
	Origin Origin
}

// Program is what a pod runs instead of an agent.
type Program struct {
	WorkDir string // empty: the root directory
	Stdin   string
	Restart bool
	Files   []File
	Ready   Ready
}

// File is a file in the private file system of a pod.
type File struct {
	Path, Content string
	Mode          uint32 // permissions
}

// Ready says when a program is ready: when one of TCP, HTTP and Exec succeeds, or, with
// none of them, when it listens on all ports of its pod.
type Ready struct {
	TCP    uint16
	HTTP   string // a path
	Port   uint16 // of HTTP
	Exec   []string
	Within time.Duration
}
