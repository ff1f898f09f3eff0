package resolve

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

const (
	// readyWithin is how long a program may take to become ready if it does not say.
	readyWithin = 30 * time.Second
	// fileMode is that of a file that sets none.
	fileMode = "0644"
)

// program resolves what a pod says of its command, or else its image does.
func (r *resolver) program(p *topology.Pod, s topology.PodSpec) topology.Program {
	w := s.Program
	if w.Image.Set {
		r.image(p, w.Image)
	}
	if len(p.Command) == 0 {
		r.idle(p, w)
		return topology.Program{Files: r.files(w.Files)}
	}
	out := topology.Program{WorkDir: w.WorkDir.Value, Stdin: w.Stdin.Value, NetAdmin: w.NetAdmin.Value, Ready: r.ready(p, w.Ready)}
	out.Restart = r.Enum(w.Restart, "restart", "never", []string{"always", "never"}, nil) == "always"
	if w.Image.Set {
		out.Image = &w.Image.Value
		out.WorkDir = cmp.Or(out.WorkDir, w.Image.Value.WorkDir)
	}
	if out.WorkDir != "" && !path.IsAbs(out.WorkDir) {
		r.Errorf(draft.At(w.WorkDir.Origin), "Relative path", "The work_dir %q is not an absolute path. Begin it with \"/\".", draft.Shorten(out.WorkDir))
	}
	out.Files = r.files(w.Files)
	return out
}

// files resolves file blocks. They need no program: whoever looks from inside of the pod sees them.
func (r *resolver) files(list []topology.FileSpec) (out []topology.File) {
	var taken []topology.FileSpec
	for _, f := range list {
		if r.file(f, taken) {
			mode, _ := strconv.ParseUint(f.Mode.Or(fileMode), 8, 32)
			out = append(out, topology.File{Path: f.Path, Content: f.Content.Or(f.Source.Value), Mode: uint32(mode)})
			taken = append(taken, f)
		}
	}
	slices.SortFunc(out, func(a, b topology.File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// image adds what an image says of its program, where the pod does not say it.
func (r *resolver) image(p *topology.Pod, o topology.Opt[topology.Image]) {
	if len(p.Command) == 0 {
		p.Command = slices.Clone(o.Value.Command)
	}
	if len(p.Command) == 0 {
		r.Errorf(draft.At(o.Origin), "No command", "The image %s names no program to run. Add command = [\"…\"] to pod %q.", draft.Shorten(o.Value.Name), p.AgentName())
	}
	for _, v := range o.Value.Env {
		name, value, _ := strings.Cut(v, "=")
		if _, own := p.Env[name]; !own {
			if p.Env == nil {
				p.Env = map[string]string{}
			}
			p.Env[name] = value
		}
	}
}

// idle reports what says something of a command that is not there.
func (r *resolver) idle(p *topology.Pod, w topology.ProgramSpec) {
	written := []struct {
		what string
		at   topology.Origin
	}{{"work_dir", w.WorkDir.Origin}, {"stdin", w.Stdin.Origin}, {"restart", w.Restart.Origin}, {"net_admin", w.NetAdmin.Origin}, {"a ready block", w.Ready.Origin}}
	for _, x := range written {
		if x.at != (topology.Origin{}) {
			r.Errorf(draft.At(x.at), "No command", "Pod %q has %s, but runs no program. Add command = [\"…\"] or image = \"…\", or remove it.", p.AgentName(), x.what)
		}
	}
}

// file reports what is wrong with a file block.
func (r *resolver) file(f topology.FileSpec, taken []topology.FileSpec) bool {
	under := func(dir, file string) bool { return strings.HasPrefix(file, dir+"/") }
	kernels := func(dir string) bool { return f.Path == dir || under(dir, f.Path) }
	before := len(r.Problems)
	switch {
	case !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" || strings.ContainsRune(f.Path, 0):
		r.Errorf(draft.At(f.Origin), "Invalid path", "%q is not the absolute path of a file. Write, for example, file \"/etc/app.conf\".", draft.Shorten(f.Path))
	case slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, kernels):
		r.Errorf(draft.At(f.Origin), "File of the kernel", "%s belongs to the kernel. Use another folder.", draft.Shorten(f.Path))
	}
	for _, other := range taken {
		if other.Path == f.Path {
			r.Errorf(draft.At(f.Origin), "Duplicate file", "%s is already %s. Remove one of them.", draft.Shorten(f.Path), other.Origin.SeenFrom(f.Origin))
		} else if under(other.Path, f.Path) || under(f.Path, other.Path) {
			r.Errorf(draft.At(f.Origin), "File below a file", "%s and %s cannot both be files. Rename one of them.", draft.Shorten(f.Path), draft.Shorten(other.Path))
		}
	}
	switch none := (topology.Origin{}); {
	case f.Content.Set && f.Source.Origin != none:
		r.Errorf(draft.At(f.Source.Origin), "Content and source", "A file has its content from one of them. Remove content or source.")
	case !f.Content.Set && f.Content.Origin == none && !f.Source.Set && f.Source.Origin == none:
		r.Errorf(draft.At(f.Origin), "File without content", "The file %s has no content. Add content = \"…\", or source = \"FILE\".", draft.Shorten(f.Path))
	}
	if mode, err := strconv.ParseUint(f.Mode.Or(fileMode), 8, 32); err != nil || mode > 0o7777 {
		r.Errorf(draft.At(f.Mode.Origin), "Invalid mode", "%q is not a mode in octal digits. Write mode = \"0644\", or \"0755\" for a program.", draft.Shorten(f.Mode.Value))
	}
	return len(r.Problems) == before
}

// ready resolves a ready block.
func (r *resolver) ready(p *topology.Pod, w topology.ReadySpec) topology.Ready {
	out := topology.Ready{HTTP: w.HTTP.Value, Exec: slices.Clone(w.Exec.Value), Within: w.Within.Or(readyWithin)}
	if out.Within <= 0 {
		r.Errorf(draft.At(w.Within.Origin), "No time", "A program needs some time to become ready. Write within = \"30s\".")
	}
	ways := 0
	for _, set := range []bool{w.TCP.Set, w.HTTP.Set, w.Exec.Set} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		r.Errorf(draft.At(w.Origin), "Several conditions", "A program is ready by one condition. Keep one of tcp, http and exec.")
	}
	if w.TCP.Set {
		out.TCP = r.podPort(p, w.TCP)
	}
	switch {
	case w.HTTP.Set && !strings.HasPrefix(out.HTTP, "/"):
		r.Errorf(draft.At(w.HTTP.Origin), "Invalid path", "%q is not the path of a URL. Write http = \"/healthz\", and the port in an attribute of its own.", draft.Shorten(out.HTTP))
	case w.HTTP.Set && w.Port.Set:
		out.Port = r.podPort(p, w.Port)
	case w.HTTP.Set:
		i := slices.IndexFunc(p.Ports, func(x topology.Port) bool { return x.Protocol == topology.TCP })
		if i < 0 {
			r.Errorf(draft.At(w.HTTP.Origin), "No port", "%s has no tcp port to send the request to. Add port = 80 here.", called(p))
			break
		}
		out.Port = p.Ports[i].Number
	case w.Port.Set:
		r.Errorf(draft.At(w.Port.Origin), "Port without http", "This is the port of an HTTP request. Add http = \"/\", or write tcp instead of port.")
	}
	if w.Exec.Set && (len(out.Exec) == 0 || out.Exec[0] == "") {
		r.Errorf(draft.At(w.Exec.Origin), "Empty command", "The program of this command is empty. Write exec = [\"true\"].")
	}
	return out
}

// podPort is a tcp port by number, or by its name in the pod.
func (r *resolver) podPort(p *topology.Pod, o topology.Opt[string]) uint16 {
	var known []string
	for _, x := range p.Ports {
		if x.Protocol == topology.TCP {
			if x.Name == o.Value {
				return x.Number
			}
			known = append(known, x.Name)
		}
	}
	n, err := strconv.Atoi(o.Value)
	if err != nil {
		r.Errorf(draft.At(o.Origin), "Unknown port", "%s has no tcp port named %q.%s Name one of its ports, or give a number.",
			called(p), draft.Shorten(o.Value), draft.HintPorts(o.Value, known))
		return 0
	}
	return r.Port(topology.Opt[int]{Value: n, Set: true, Origin: o.Origin}, "port of "+strings.ToLower(called(p)[:1])+called(p)[1:], draft.At(o.Origin))
}

// called names a pod at the beginning of a sentence; an agent of a node has no name.
func called(p *topology.Pod) string {
	if p.Name == "" {
		return "The agent"
	}
	return fmt.Sprintf("Pod %q", p.AgentName())
}
