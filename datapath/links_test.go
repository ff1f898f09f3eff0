package datapath_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve"
)

func TestLinksHaveTheirQdiscsAndMTUs(t *testing.T) {
	lab := labOf(t, labs[0].spec)
	lab.Nodes[0].Link = topology.Link{MTU: 1400}
	lab.Clients[0].Link = topology.Link{Delay: 20 * time.Millisecond, Rate: 1e6}
	lab.Pods[0].Link = topology.Link{Loss: 0.5}
	p, err := datapath.Compile(lab)
	if err != nil {
		t.Fatal(err)
	}
	var qdiscs, mtus []string
	for _, n := range p.Netns {
		for _, q := range n.Qdiscs {
			qdiscs = append(qdiscs, fmt.Sprint(n.Name, " ", q.Link, " ", q.Delay, " ", q.Loss, " ", q.Rate))
		}
		for _, l := range n.Links {
			if n.Name != "node.node2" {
				mtus = append(mtus, fmt.Sprint(n.Name, " ", l.Name, " ", l.MTU))
			}
		}
	}
	if got, want := strings.Join(qdiscs, "; "), "client.laptop eth0 20ms 0 1000000; pod.web-0 eth0 0s 0.5 0"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	host := lab.Pods[0].HostLink
	want := "underlay br0 1500; underlay node1 1400; underlay node2 1500; underlay laptop 1500; node.node1 eth0 1400; node.node1 cni0 1350; " +
		"node.node1 flannel.1 1350; node.node1 " + host + " 1350; client.laptop eth0 1500; pod.web-0 eth0 1350"
	if got := strings.Join(mtus, "; "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	perfect, err := datapath.Compile(labOf(t, labs[0].spec))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range perfect.Netns {
		if len(n.Qdiscs) > 0 {
			t.Errorf("%s has queueing disciplines without a link block", n.Name)
		}
	}
}

func labOf(t *testing.T, spec topology.Spec) *topology.Lab {
	t.Helper()
	lab, problems := resolve.Lab(&spec, datapath.Catalogue())
	if problems.Failed() {
		t.Fatal(problems)
	}
	return lab
}
