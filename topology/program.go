package topology

import "time"

// ProgramSpec is what a pod block says of its command.
type ProgramSpec struct {
	// Image is the root file system of the pod.
	Image   Opt[Image]
	WorkDir Opt[string]
	Stdin   Opt[string]
	Restart Opt[string] // always or never
	// NetAdmin lets it change its own network.
	NetAdmin Opt[bool]
	Files    []FileSpec
	Ready    ReadySpec
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

// Image is a container image on disk: the root file system of pods, and what it says of the
// program in it.
type Image struct {
	Name    string // as the scenario names it
	Path    string // of its folder or archive
	Digest  string // of what is in it
	Command []string
	Env     []string // KEY=value
	WorkDir string
}

// Program is what a pod runs instead of an agent. One that runs none may have files nevertheless.
type Program struct {
	Image   *Image // nil: it sees programs and libraries of the machine
	WorkDir string // empty: the root directory
	Stdin   string
	Restart bool
	// NetAdmin lets it change the interfaces, routes and rules of its network namespace.
	NetAdmin bool
	Files    []File
	Ready    Ready
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
	// Families are those for which kube-proxy must have written its rules, IPv4 and IPv6, besides
	// answering HTTP.
	Families []string
}
