package language

import (
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// programAttributes are what a pod says of the program that it runs.
func (l *loader) programAttributes(s *topology.PodSpec) []blocks.Attribute {
	return []blocks.Attribute{
		{At: l.command(s), Name: "command", Means: "A program that runs in the pod and listens on its ports, instead of the agent that answers there; over UDP, a datagram that reaches it counts as connected."},
		{At: l.image(s), Name: "image", Means: "A container image on disk, in the OCI layout as a folder or an archive, or by docker save, which is the root file system of the pod, and whose entrypoint, environment and working directory hold where the pod sets none."},
		{At: l.env(&s.Env, new(topology.Origin)), Name: "env", Means: "Environment variables of the command."},
		{At: l.later(&s.Program.WorkDir), Name: "work_dir", Means: "The working directory of the command; the root directory if it is not set."},
		{At: l.later(&s.Program.Stdin), Name: "stdin", Means: "The text that the command reads from standard input, which is empty if it is not set."},
		{At: l.later(&s.Program.Restart), Name: "restart", Default: `"never"`, Means: "What happens when the command ends: it starts again (always), or that is an error (never)."},
		{At: &s.Program.NetAdmin, Name: "net_admin", Default: "false", Means: "The command may change the interfaces, routes and rules of its network namespace."},
	}
}

// programBlocks are the blocks about that program.
func (l *loader) programBlocks(of string) []blocks.Nested {
	byDefault := "when it listens on all ports of the pod"
	seen := "; without a command, netlab exec --confined and run blocks see it"
	if of != "pod" {
		seen = ""
		byDefault = "when it runs, or with kube-proxy when its port for health checks says so"
	}
	return []blocks.Nested{
		blocks.Labeled("file", "A file in the private file system of the "+of+", with its path as label"+seen+".", func() blocks.Schema { return l.fileTable(new(topology.FileSpec)) }),
		blocks.Plain("ready", "When the command counts as ready; by default "+byDefault+".", func() blocks.Schema { return l.readyTable(new(topology.ReadySpec)) }),
	}
}

// fileTable is a file in the private file system of a pod.
func (l *loader) fileTable(s *topology.FileSpec) blocks.Schema {
	return blocks.Schema{Kind: "file", Attrs: []blocks.Attribute{
		{At: l.later(&s.Content), Name: "content", Means: "The text of the file."},
		{At: l.fileSource(s), Name: "source", Means: "A file with that text, whose path starts in the folder of the scenario."},
		{At: &s.Mode, Name: "mode", Default: `"0644"`, Means: "The permissions of the file, in octal digits."},
	}}
}

// readyTable says when a program is ready.
func (l *loader) readyTable(s *topology.ReadySpec) blocks.Schema {
	return blocks.Schema{Kind: "ready", Attrs: []blocks.Attribute{
		{At: &s.TCP, Name: "tcp", Means: "The port, by number or name, on which the program accepts a connection once it is ready."},
		{At: &s.HTTP, Name: "http", Means: "The path for which a GET request gets a status from 200 to 399 once the program is ready."},
		{At: &s.Port, Name: "port", Means: "The port of http, by number or name; the first tcp port of the pod if it is not set."},
		{At: l.later(&s.Exec), Name: "exec", Means: "A command that exits with status 0 in the pod once the program is ready."},
		{At: &s.Within, Name: "within", Default: `"30s"`, Means: "How long the program may take to become ready."},
	}}
}
