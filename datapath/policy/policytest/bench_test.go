package policytest

import (
	"strconv"
	"testing"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// crowd is a lab of pods and policies on ten nodes: each policy selects one in a
// hundred pods and admits as many others.
func crowd(style string, pods, policies int) topology.Spec {
	spec := topology.Spec{PolicyOptions: topology.PoliciesSpec{Style: set(style)}}
	spec.Namespaces = []topology.NamespaceSpec{{Name: "crowd"}}
	for i := range 10 {
		spec.Nodes = append(spec.Nodes, topology.NodeSpec{Name: "node" + strconv.Itoa(i)})
	}
	for i := range pods {
		spec.Pods = append(spec.Pods, topology.PodSpec{Block: "p", Key: strconv.Itoa(i), Index: i, Namespace: set("crowd"), Node: set("node" + strconv.Itoa(i%10)),
			Labels: map[string]string{"app": strconv.Itoa(i % 101)}, Ports: []topology.PortSpec{{Name: "http", Port: set(80)}}})
	}
	for i := range policies {
		spec.Policies = append(spec.Policies, topology.PolicySpec{Name: "p" + strconv.Itoa(i), Namespace: set("crowd"), PodSelector: selector("app=" + strconv.Itoa(i%101)),
			Ingress: []topology.PolicyRuleSpec{{Peers: []topology.PeerSpec{{PodSelector: selector("app=" + strconv.Itoa(i*7%101))}}, Ports: []topology.PolicyPortSpec{port(strconv.Itoa(80 + i%5))}}}})
	}
	return spec
}

func resolved(b *testing.B, spec topology.Spec) *topology.Lab {
	b.Helper()
	lab, problems := resolve.Lab(&spec, datapath.Catalogue())
	if err := problems.Err(); err != nil {
		b.Fatal(err)
	}
	return lab
}

func BenchmarkCompile(b *testing.B) {
	for _, style := range datapath.Styles() {
		if !style.Conforms {
			continue
		}
		lab := resolved(b, crowd(style.Name, 1000, 1000))
		b.Run(style.Name, func(b *testing.B) {
			for b.Loop() {
				if _, err := datapath.Compile(lab); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLabelChange compares the plans before and after one label changed.
func BenchmarkLabelChange(b *testing.B) {
	for _, style := range datapath.Styles() {
		if !style.Conforms {
			continue
		}
		spec := crowd(style.Name, 1000, 1000)
		before, err := datapath.Compile(resolved(b, spec))
		if err != nil {
			b.Fatal(err)
		}
		spec.Pods[0].Labels["app"] = "1"
		after, err := datapath.Compile(resolved(b, spec))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(style.Name, func(b *testing.B) {
			for b.Loop() {
				plan.Diff(before, after)
			}
		})
	}
}
