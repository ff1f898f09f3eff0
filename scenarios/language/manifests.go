package language

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/printer"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/kubernetes"
)

// DefaultNodes is how many nodes objects get that no node is written for.
const DefaultNodes = 3

// importTable is objects from manifests. All there is to say is in the label.
func importTable() blocks.Schema { return blocks.Schema{Kind: "import"} }

// Import reads Kubernetes objects: files, folders, or standard input for "-". It reports
// problems as Load does.
func Import(paths []string, opts Options) (*Scenario, source.Diagnostics) {
	in, c := source.ReadObjects(paths, opts.Stdin)
	c.Progress = opts.Progress
	return load(in, c, opts)
}

// HCL is what was made of manifests, as a scenario that says the same.
func (s *Scenario) HCL() []byte {
	about := printer.Comments{}
	rest := ""
	for _, lost := range s.adopted.Lost {
		if at := fmt.Sprintf("%s:%d", lost.Origin.File, lost.Origin.Line); lost.Block == "" {
			rest += printer.Comment("  "+at+": "+lost.Why+".") + "\n"
		} else {
			about[lost.Block] = append(about[lost.Block], fmt.Sprintf("Not carried over, %s: %s.", at, lost.Why))
		}
	}
	for _, note := range s.adopted.Notes {
		about[note.Block] = append(about[note.Block], note.Why+".")
	}
	text := printer.Comment("Imported from "+source.SomeOf(s.Files)+".") + "\n\n" + printer.Text(s.Spec, about)
	if rest != "" {
		text += "\n# Not carried over:\n" + rest
	}
	return hclwrite.Format([]byte(text))
}

// readManifests reads the objects of the scenario: those of its own files, or of the files that
// import blocks name.
func (l *loader) readManifests() {
	l.objectsOf = &kubernetes.Objects{}
	before := len(l.List)
	defer func() { l.Incomplete = slices.ContainsFunc(l.List[before:], isUnread) }()
	for _, name := range l.in.Manifests {
		l.readManifest(name)
	}
	read := map[string]bool{}
	for b := range l.BlocksOf("import") {
		l.Read(b, importTable())
		names, err := l.in.Folders.Manifests(b.Label)
		switch {
		case err != nil:
			l.Errorf(b.LabelRange, "Unusable pattern", "%q: %s. Name manifests below the folder of the scenario, such as \"manifests/*.yaml\".", b.Label, source.Reason(err))
		case len(names) == 0:
			l.Errorf(b.LabelRange, "No manifest found", "No file that ends in .yaml, .yml or .json matches %q. Paths start in the folder of the scenario.", b.Label)
		}
		for _, name := range names {
			if read[name] {
				continue
			}
			read[name] = true
			src, err := l.in.Folders.ReadManifest(name)
			if err != nil {
				l.Errorf(b.LabelRange, "Cannot read manifest", "%s: %s. Name a regular file that you can read.", name, source.Reason(err))
				continue
			}
			l.Sources[name] = src
			l.files.Opened[l.Path(name)] = true
			l.readManifest(name)
		}
	}
}

// isUnread reports a diagnostic after which objects are missing.
func isUnread(d source.Diagnostic) bool {
	return slices.Contains([]string{"Unusable pattern", "No manifest found", "Cannot read manifest", "Invalid YAML", "Not a text file", "Unknown kind", "Unknown version"}, d.Summary)
}

func (l *loader) readManifest(name string) {
	l.Now(hcl.Range{Filename: name})
	l.Collector.Problems(l.objectsOf.Read(name, l.Sources[name]))
}

// adopt makes a lab of the objects, beside the nodes and namespaces of the scenario itself.
func (l *loader) adopt(opts Options) {
	beside := &topology.Spec{Network: l.spec.Network, DNS: l.spec.DNS, Nodes: slices.Clone(l.spec.Nodes)}
	for _, s := range l.lab().Subnets {
		if s.Name == topology.DefaultSubnet {
			beside.Network.NodeCIDRs.Value = s.CIDRs
			continue
		}
		subnet := topology.SubnetSpec{Name: s.Name}
		subnet.CIDRs.Value = s.CIDRs
		beside.Subnets = append(beside.Subnets, subnet)
	}
	for name := range l.Declared["namespace"] {
		beside.Namespaces = append(beside.Namespaces, topology.NamespaceSpec{Name: name})
	}
	nodes := 0
	if !l.objectsOf.Empty() {
		nodes = cmp.Or(opts.Nodes, DefaultNodes)
	}
	l.adopted = l.objectsOf.Lab(beside, nodes)
	l.composed()
	problems := l.adopted.Problems
	for _, lost := range l.adopted.Lost {
		problems = append(problems, topology.Problem{Summary: "Not carried over", Detail: lost.Why + ".", Origin: lost.Origin, Warning: !opts.Strict || lost.Absent})
	}
	l.Collector.Problems(problems)
	if l.adopted.DNS.Written {
		l.spec.DNS = l.adopted.DNS
	}
	l.spec.Nodes = append(l.spec.Nodes, l.adopted.Nodes...)
	for _, n := range l.adopted.Nodes {
		l.Adopt("node", n.Written.Block, nil, source.RangeOf(n.Origin))
	}
}

// composed writes the files of pods as texts of the language are: with composed characters, as
// cty has all strings.
func (l *loader) composed() {
	told := map[topology.Origin]bool{}
	for _, p := range l.adopted.Pods {
		for i := range p.Program.Files { // which the pods of a block share
			text := &p.Program.Files[i].Content
			composed := cty.NormalizeString(text.Value)
			if composed == text.Value {
				continue
			}
			if text.Value = composed; !told[text.Origin] {
				told[text.Origin] = true
				l.adopted.Lost = append(l.adopted.Lost, kubernetes.Lost{Why: "characters that are written as several: strings of a scenario have composed ones (Unicode, form C)", Origin: text.Origin})
			}
		}
	}
}

func (l *loader) adoptNamespaces() {
	l.spec.Namespaces = append(l.spec.Namespaces, l.adopted.Namespaces...)
	for _, n := range l.adopted.Namespaces {
		l.Adopt("namespace", n.Written.Block, nil, source.RangeOf(n.Origin))
	}
}

func (l *loader) adoptPods() {
	l.spec.Pods = append(l.spec.Pods, l.adopted.Pods...)
	for i := 0; i < len(l.adopted.Pods); {
		first := l.adopted.Pods[i]
		var keys []string
		for ; i < len(l.adopted.Pods) && l.adopted.Pods[i].Block == first.Block; i++ {
			if key := l.adopted.Pods[i].Key; key != "" {
				keys = append(keys, key)
			}
		}
		l.Adopt("pod", first.Block, keys, source.RangeOf(first.Origin))
	}
}

func (l *loader) adoptServices() {
	l.spec.Services = append(l.spec.Services, l.adopted.Services...)
	for _, s := range l.adopted.Services {
		l.Adopt("service", s.Written.Block, nil, source.RangeOf(s.Origin))
	}
}

func (l *loader) adoptPolicies() {
	l.spec.Ingresses = append(l.spec.Ingresses, l.adopted.Ingresses...)
	l.spec.Gateways = append(l.spec.Gateways, l.adopted.Gateways...)
	l.spec.Grants = append(l.spec.Grants, l.adopted.Grants...)
	l.spec.HTTPRoutes = append(l.spec.HTTPRoutes, l.adopted.HTTPRoutes...)
	l.spec.Policies = append(l.spec.Policies, l.adopted.Policies...)
	l.spec.ClusterPolicies = append(l.spec.ClusterPolicies, l.adopted.ClusterPolicies...)
}
