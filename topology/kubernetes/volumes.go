package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/netlab/netlab/topology"
)

const (
	// maxConfig bounds a ConfigMap, as the API server does (core/v1.MaxSecretSize).
	maxConfig = 1 << 20
	// maxKey bounds a key of it (IsConfigMapKey in apimachinery/pkg/util/validation).
	maxKey = 253
	// usualMode is that of the files of a volume that says nothing else.
	usualMode = 0o644
	// clusterCA is a ConfigMap that every namespace has: the authority of an API server that is
	// none of the lab.
	clusterCA = "kube-root-ca.crt"
)

var configKey = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

func validKey(key string) bool {
	return configKey.MatchString(key) && len(key) <= maxKey && key != "." && !strings.HasPrefix(key, "..")
}

// configs checks ConfigMaps as the API server does, and makes texts of what is in base64.
func (c *converter) configs() {
	for _, m := range c.cfg {
		size, name := 0, lineOf(m.Meta.Name.Value)
		for _, of := range []entries{m.Data, m.Binary} {
			for _, k := range slices.Sorted(maps.Keys(of)) {
				at := cmp.Or(of[k].Origin, m.at())
				if !validKey(k) {
					c.errorf(at, "Invalid key", "%q of ConfigMap %s is not the name of a file. Use letters, digits, dots, dashes and underscores, at most %d, and no two dots at the beginning.", lineOf(k), name, maxKey)
				}
			}
		}
		for _, v := range m.Data {
			size += len(v.Value)
		}
		for _, k := range slices.Sorted(maps.Keys(m.Binary)) {
			v := m.Binary[k]
			if _, both := m.Data[k]; both {
				c.errorf(cmp.Or(v.Origin, m.at()), "Duplicate key", "ConfigMap %s has %s in data and in binaryData. Remove one of them.", name, lineOf(k))
			}
			plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v.Value), ""))
			if err != nil {
				c.errorf(cmp.Or(v.Origin, m.at()), "Invalid base64", "%s of ConfigMap %s is not base64. Write text to data instead.", lineOf(k), name)
			}
			v.Value = string(plain)
			m.Binary[k] = v
			size += len(plain)
		}
		if size > maxConfig {
			c.errorf(m.at(), "ConfigMap too large", "ConfigMap %s has %d bytes, and a cluster refuses more than %d. Split it.", name, size, maxConfig)
		}
	}
}

// content is a file of a volume.
type content struct {
	path string
	text str
	mode int
}

// files are those of ConfigMaps that the containers of a pod mount. All of them are files of the
// pod: an agent has no containers.
func (c *converter) files(namespace string, p *podSpec, containers []container) (out []topology.FileSpec) {
	volumes, read := map[string]*volume{}, map[string][]content{}
	for i := range p.Volumes {
		volumes[p.Volumes[i].Name.Value] = &p.Volumes[i]
	}
	for _, x := range containers {
		c.environment(&x)
		taken := map[string]bool{}
		for _, m := range x.Mounts {
			v := volumes[m.Name.Value]
			switch at := cmp.Or(m.Path.Origin, m.Origin); {
			case v == nil:
				c.lose("", m.Origin, "volumeMounts: the pod has no volume %s.%s Add it to volumes", lineOf(m.Name.Value), topology.DidYouMean(m.Name.Value, slices.Sorted(maps.Keys(volumes))))
			case v.ConfigMap == nil && v.Projected == nil:
			case !path.IsAbs(m.Path.Value) || strings.Contains(m.Path.Value, ":") || upwards(m.Path.Value):
				c.errorf(at, "Invalid mount path", "%q is not a path for a volume. Write an absolute path, without colons and \"..\".", lineOf(m.Path.Value))
			case taken[path.Clean(m.Path.Value)]:
				c.errorf(at, "Mounted twice", "The container has two volumes at %s. Remove one of them.", lineOf(m.Path.Value))
			case path.IsAbs(m.SubPath.Value) || upwards(m.SubPath.Value):
				c.errorf(m.SubPath.Origin, "Invalid path", "%q is not a path in a volume. Write a relative path, without \"..\".", lineOf(m.SubPath.Value))
			case m.SubPathExpr.Value != "":
				c.lose("", m.SubPathExpr.Origin, "subPathExpr: an agent has no environment variables. Write subPath")
			default:
				taken[path.Clean(m.Path.Value)] = true
				list, known := read[m.Name.Value]
				if !known {
					list = c.volume(namespace, v)
					read[m.Name.Value] = list
				}
				out = c.mount(out, &m, list)
			}
		}
	}
	return out
}

// upwards reports a path that leads out of where it is.
func upwards(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

// environment notes what containers take from ConfigMaps besides files.
func (c *converter) environment(x *container) {
	lose := func(from *configSource) {
		if from != nil {
			c.lose("", from.Origin, "ConfigMap %s as environment variables: an agent has none. For a program with them, write command and env", lineOf(from.Name.Value))
		}
	}
	for _, e := range x.EnvFrom {
		lose(e.ConfigMap)
	}
	for _, e := range x.Env {
		lose(e.From.ConfigMap)
	}
}

// mount adds the files of a volume where a container has it.
func (c *converter) mount(out []topology.FileSpec, m *mount, list []content) []topology.FileSpec {
	sub, found := strings.TrimPrefix(path.Clean("/"+m.SubPath.Value), "/"), false
	for _, x := range list {
		rest, within := x.path, true
		if sub != "" {
			rest, within = strings.CutPrefix(x.path, sub)
			within = within && (rest == "" || rest[0] == '/')
		}
		if !within {
			continue
		}
		found = true
		f := topology.FileSpec{Path: path.Join(m.Path.Value, rest), Content: x.text, Origin: cmp.Or(m.Path.Origin, m.Origin)}
		if x.mode != usualMode {
			f.Mode = str{Value: fmt.Sprintf("%04o", x.mode), Set: true, Origin: f.Origin}
		}
		if c.free(out, &f) {
			out = append(out, f)
		}
	}
	if !found && sub != "" && len(list) > 0 {
		c.lose("", m.SubPath.Origin, "subPath %s: the volume %s has no such file, so a cluster makes an empty folder", lineOf(sub), lineOf(m.Name.Value))
	}
	return out
}

// free reports that a file is not there yet, and notes one that cannot be there besides.
func (c *converter) free(have []topology.FileSpec, f *topology.FileSpec) bool {
	for i := range have {
		switch x := &have[i]; {
		case x.Path == f.Path && x.Content.Value == f.Content.Value && x.Mode.Value == f.Mode.Value:
			return false
		case x.Path == f.Path:
			c.lose("", f.Origin, "%s: a pod has one file there, the one %s", lineOf(f.Path), x.Origin.SeenFrom(f.Origin))
			return false
		case strings.HasPrefix(x.Path, f.Path+"/"), strings.HasPrefix(f.Path, x.Path+"/"):
			c.lose("", f.Origin, "%s: a pod has %s, so the one cannot be a file and the other below it", lineOf(f.Path), lineOf(x.Path))
			return false
		}
	}
	return true
}

// volume is the files of a volume.
func (c *converter) volume(namespace string, v *volume) []content {
	if v.ConfigMap != nil {
		return c.config(namespace, v.ConfigMap, v.ConfigMap.DefaultMode)
	}
	var out []content
	for _, s := range v.Projected.Sources {
		if s.ConfigMap == nil {
			continue
		}
		for _, x := range c.config(namespace, s.ConfigMap, v.Projected.DefaultMode) { // the last of a path counts
			out = append(slices.DeleteFunc(out, func(o content) bool { return o.path == x.path }), x)
		}
	}
	return out
}

// config is a ConfigMap as files: all of its keys, or some at other paths.
func (c *converter) config(namespace string, v *configVolume, mode permissions) (out []content) {
	at := cmp.Or(v.Name.Origin, v.Origin)
	i := slices.IndexFunc(c.cfg, func(m *configMap) bool { return m.namespace() == namespace && m.Meta.Name.Value == v.Name.Value })
	switch name := lineOf(v.Name.Value); {
	case v.Name.Value == clusterCA:
		return nil
	case i < 0 && v.Optional.Value:
		return nil
	case i < 0:
		c.lose("", at, "ConfigMap %s: the manifests do not have it in namespace %s. Import the file that has it, too, or write optional: true", name, namespace)
		return nil
	}
	m := c.cfg[i]
	of := func(key, path string, mode permissions) {
		text, is := m.Data[key]
		if !is {
			text = m.Binary[key]
		}
		if !utf8.ValidString(text.Value) {
			c.lose("", cmp.Or(text.Origin, m.at()), "%s of ConfigMap %s: it is no text, and files of a lab are", lineOf(key), lineOf(v.Name.Value))
			return
		}
		text.Set = true
		out = append(out, content{path, text, c.mode(mode)})
	}
	keys := slices.Concat(slices.Collect(maps.Keys(m.Data)), slices.Collect(maps.Keys(m.Binary)))
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if len(v.Items) == 0 {
		for _, k := range keys {
			of(k, k, mode)
		}
	}
	for _, x := range v.Items {
		switch to := x.Path.Value; {
		case !slices.Contains(keys, x.Key.Value) && v.Optional.Value:
		case !slices.Contains(keys, x.Key.Value):
			c.lose("", cmp.Or(x.Key.Origin, x.Origin), "ConfigMap %s has no key %s.%s Add it to data, or write optional: true", lineOf(v.Name.Value), lineOf(x.Key.Value), topology.DidYouMean(x.Key.Value, keys))
		case to == "" || path.IsAbs(to) || upwards(to) || strings.HasPrefix(to, ".."):
			c.errorf(cmp.Or(x.Path.Origin, x.Origin), "Invalid path", "%q is not a path in a volume. Write a relative path, without \"..\".", lineOf(to))
		default:
			if x.Mode.Set {
				of(x.Key.Value, path.Clean(to), x.Mode)
			} else {
				of(x.Key.Value, path.Clean(to), mode)
			}
		}
	}
	return out
}

// mode is the permissions of a file.
func (c *converter) mode(o permissions) int {
	if o.Set && (o.Value < 0 || o.Value > 0o777) {
		c.errorf(o.Origin, "Invalid mode", "%d is not a mode of files. Write 0644, for example, which is 420 in JSON.", o.Value)
		return usualMode
	}
	return topology.Opt[int](o).Or(usualMode)
}

// filesVolume is the volume with the files of an exported pod.
const filesVolume = "files"

// mounted are files of a pod as keys of a ConfigMap, and why others cannot be.
func mounted(p *topology.Pod) (keys []string, files []topology.File, lost []string) {
	size := 0
	for _, f := range p.Program.Files {
		if size += len(f.Content); size > maxConfig {
			return nil, nil, []string{fmt.Sprintf("the files of pod %s: a ConfigMap has room for 1 MiB", p.AgentName())}
		}
		switch {
		case strings.Contains(f.Path, ":"):
			lost = append(lost, fmt.Sprintf("file %s of pod %s: no volume is at a path with a colon", lineOf(f.Path), p.AgentName()))
			continue
		case f.Mode > 0o777:
			lost = append(lost, fmt.Sprintf("file %s of pod %s: a volume has no such mode", lineOf(f.Path), p.AgentName()))
			continue
		}
		key := path.Base(f.Path)
		for i := 1; !validKey(key) || slices.Contains(keys, key); i++ {
			key = fmt.Sprintf("file-%d", i)
		}
		keys, files = append(keys, key), append(files, f)
	}
	return keys, files, lost
}

// configOf is the ConfigMap of an exported pod: the same for pods with the same files. It has the
// name "" if there are none.
func configOf(p *topology.Pod) (name string, data map[string]string) {
	keys, files, _ := mounted(p)
	if keys == nil {
		return "", nil
	}
	h, data := sha256.New(), map[string]string{}
	for i, k := range keys {
		fmt.Fprintf(h, "%q%q", k, files[i].Content)
		data[k] = files[i].Content
	}
	return fmt.Sprintf("files-%x", h.Sum(nil)[:5]), data
}

// configMaps writes the ConfigMaps of pods, each once.
func (e *exporter) configMaps(pods []*topology.Pod) {
	written := map[[2]string]bool{}
	for _, p := range pods {
		_, _, lost := mounted(p)
		for _, l := range lost {
			e.lose(p.Origin, "%s", l)
		}
		if name, data := configOf(p); name != "" && !written[[2]string{p.Namespace, name}] {
			written[[2]string{p.Namespace, name}] = true
			e.object("v1", "ConfigMap", e.inNamespace(name, p.Namespace, nil), "data", data)
		}
	}
}

// volumes are those of an exported pod.
func volumes(p *topology.Pod) []tree {
	name, _ := configOf(p)
	if name == "" {
		return nil
	}
	keys, files, _ := mounted(p)
	var items []tree
	for i, k := range keys {
		items = append(items, fields("key", k, "path", k, "mode", int(files[i].Mode)))
	}
	source := fields("name", name)
	if slices.ContainsFunc(files, func(f topology.File) bool { return f.Mode != files[0].Mode }) {
		source = append(source, field{"items", items})
	} else {
		source = append(source, field{"defaultMode", int(files[0].Mode)})
	}
	return []tree{fields("name", filesVolume, "configMap", source)}
}

// volumeMounts are where a container has the files of an exported pod.
func volumeMounts(p *topology.Pod) (out []tree) {
	keys, files, _ := mounted(p)
	for i, k := range keys {
		out = append(out, fields("name", filesVolume, "mountPath", files[i].Path, "subPath", k))
	}
	return out
}
