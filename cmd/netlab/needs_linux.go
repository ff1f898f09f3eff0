package main

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/feature"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

// choice is a mode, proxy or style of the catalogue, and what it needs of a kernel.
type choice struct {
	name  string // such as: proxy ipvs
	needs []feature.Feature
}

// choices are all modes, proxies and styles of the catalogue. What each needs follows
// from the plan of a small lab that uses it and as little else as possible.
func choices() ([]choice, error) {
	catalogue := datapath.Catalogue()
	least := topology.Spec{Network: topology.NetworkSpec{Mode: given(datapath.Modes()[0].Name)}, Proxy: topology.ProxySpec{Mode: given(datapath.NoProxy)}}
	for _, m := range catalogue.Networks {
		if m.Tunnel == topology.NoTunnel {
			least.Network.Mode = given(m.Name)
			break
		}
	}
	for i := range 2 {
		node := "node" + strconv.Itoa(i+1)
		least.Nodes = append(least.Nodes, topology.NodeSpec{Name: node})
		least.Pods = append(least.Pods, topology.PodSpec{Block: "web", Key: strconv.Itoa(i), Index: i, Node: given(node), Labels: map[string]string{"app": "web"},
			Ports: []topology.PortSpec{{Name: "http", Port: given(8080)}}})
	}
	var list []choice
	var failed error
	add := func(name string, vary func(*topology.Spec)) {
		spec := least
		vary(&spec)
		lab, problems := resolve.Lab(&spec, catalogue)
		if problems.Failed() {
			failed = cmp.Or(failed, fmt.Errorf("%s: %s", name, problems[0].Detail))
			return
		}
		p, err := datapath.Compile(lab)
		if failed = cmp.Or(failed, err); err == nil {
			list = append(list, choice{name, plan.Requires(p)})
		}
	}
	for _, m := range catalogue.Networks {
		add("pod network "+m.Name, func(s *topology.Spec) { s.Network.Mode = given(m.Name) })
	}
	for _, m := range catalogue.Proxies {
		if m.Exec {
			continue // what its agent needs, nobody knows
		}
		add("proxy "+m.Name, func(s *topology.Spec) {
			s.Proxy.Mode = given(m.Name)
			s.Services = []topology.ServiceSpec{{Name: "web", Type: given(string(topology.NodePort)), Selector: map[string]string{"app": "web"},
				Ports: []topology.ServicePortSpec{{Name: "http", Port: given(80), TargetPort: given("http")}}}}
		})
	}
	for _, style := range catalogue.Styles {
		if style.Exec {
			continue
		}
		add("policies by "+style.Name, func(s *topology.Spec) {
			s.PolicyOptions.Style = given(style.Name)
			web := topology.SelectorSpec{Set: true, MatchLabels: map[string]string{"app": "web"}}
			s.Policies = []topology.PolicySpec{{Name: "web", PodSelector: web, Ingress: []topology.PolicyRuleSpec{{
				Peers: []topology.PeerSpec{{PodSelector: web}}, Ports: []topology.PolicyPortSpec{{Port: given("http")}}}}}}
		})
	}
	return list, failed
}

func given[T any](v T) topology.Opt[T] { return topology.Opt[T]{Value: v, Set: true} }
