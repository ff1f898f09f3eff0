package labs

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/netlab/netlab/cmd/netlab/command"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/engine/inside"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/scenarios/language"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/kubernetes"
)

// inventory is what a running lab knows about itself, beyond its plan.
type inventory struct {
	Places []names.Called `json:"places"`
	// Underlay is the subnets, if there are several.
	Underlay []command.Subnet `json:"underlay,omitempty"`
	Services []serviceRecord  `json:"services"`
	// Ingress is where clients find the ingress controller.
	Ingress []netip.Addr `json:"ingress_addresses,omitempty"`
	Digest  string       `json:"digest,omitempty"`
}

type serviceRecord struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	Type      string       `json:"type"`
	ClusterIP []netip.Addr `json:"cluster_ips"`
	// LoadBalancer and ExternalIPs are its addresses outside the cluster.
	LoadBalancer []netip.Addr `json:"load_balancer_ips,omitempty"`
	ExternalIPs  []netip.Addr `json:"external_ips,omitempty"`

	External string              `json:"external_traffic_policy,omitempty"`
	Internal string              `json:"internal_traffic_policy"`
	Ports    []servicePortRecord `json:"ports"`
}

type servicePortRecord struct {
	Name      string           `json:"name,omitempty"`
	Protocol  string           `json:"protocol"`
	Port      uint16           `json:"port"`
	NodePort  uint16           `json:"node_port,omitempty"`
	Endpoints []endpointRecord `json:"endpoints"`
}

type endpointRecord struct {
	Addr  netip.AddrPort `json:"address"`
	Pod   string         `json:"pod,omitempty"`
	Node  string         `json:"node,omitempty"`
	State string         `json:"state"`
}

func inventoryOf(l *topology.Lab) inventory {
	inv := inventory{Places: names.All(l), Underlay: command.Underlay(l)}
	for _, s := range l.Services {
		inv.Services = append(inv.Services, serviceOf(s))
	}
	inv.Ingress, _ = l.IngressAddrs()
	return inv
}

func serviceOf(s *topology.Service) serviceRecord {
	r := serviceRecord{Name: s.Name, Namespace: s.Namespace, Type: string(s.Type), ClusterIP: s.ClusterIPs,
		ExternalIPs: s.ExternalIPs, Internal: string(s.InternalTrafficPolicy)}
	for _, l := range s.LoadBalancers {
		r.LoadBalancer = append(r.LoadBalancer, l.Addr)
	}
	if s.Type != topology.ClusterIP {
		r.External = string(s.ExternalTrafficPolicy)
	}
	for _, p := range s.Ports {
		port := servicePortRecord{Name: p.Name, Protocol: string(p.Protocol), Port: p.Port, NodePort: p.NodePort}
		for _, e := range p.Endpoints {
			record := endpointRecord{Addr: e.Addr, Node: e.Node, State: endpointState(e)}
			if e.Pod != nil {
				record.Pod = e.Pod.AgentName()
			}
			port.Endpoints = append(port.Endpoints, record)
		}
		r.Ports = append(r.Ports, port)
	}
	return r
}

func endpointState(e *topology.Endpoint) string {
	switch {
	case e.Ready:
		return "ready"
	case e.Terminating && e.Serving:
		return "terminating, serving"
	case e.Terminating:
		return "terminating"
	default:
		return "not ready"
	}
}

// MetaOf is what the engine stores about a lab.
func MetaOf(s *language.Scenario, p *plan.Plan, name, path string) engine.Meta {
	inv := inventoryOf(s.Lab)
	data, err := json.Marshal(inv)
	if err != nil {
		panic(err) // strings, numbers and addresses always marshal
	}
	return engine.Meta{Name: name, File: absolute(path), Nodes: len(s.Lab.Nodes), Pods: len(s.Lab.Pods),
		Clients: len(s.Lab.Clients), Routers: len(s.Lab.Routers), Services: len(s.Lab.Services), Inventory: data, Hosts: names.Hosts(s.Lab)}
}

// Serve makes the engine serve the lab as a server of the Kubernetes API.
func Serve(meta *engine.Meta, s *language.Scenario) {
	meta.API = inside.API{Version: kubernetes.Version, Born: kubernetes.Born, Objects: func() []byte { return kubernetes.Served(s.Spec, s.Lab) }}
	for _, n := range s.Lab.Nodes {
		meta.API.Netns = append(meta.API.Netns, n.Netns())
	}
}

// find resolves the name of a node, client or pod.
func find(info engine.Info, target string) (names.Called, error) {
	inv, err := inventoryIn(info)
	if err != nil {
		return names.Called{}, err
	}
	place, err := names.Lookup(target, inv.Places)
	if err != nil {
		return place, command.Misnamed(err, "see: netlab inspect")
	}
	return place, nil
}

// inventoryIn decodes the inventory of a lab.
func inventoryIn(info engine.Info) (inventory, error) {
	var inv inventory
	if len(info.Inventory) == 0 {
		return inv, command.Broken(errors.New("the lab is still being built"), "try again in a moment")
	}
	if err := json.Unmarshal(info.Inventory, &inv); err != nil {
		return inv, command.Broken(fmt.Errorf("lab %q: %w", info.Name, err), "another version of netlab made it; remove it: netlab down "+info.Name)
	}
	return inv, nil
}
