package kuberouter

import (
	"strconv"

	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/topology"
)

// Names of the chains that every node with policies has.
const (
	input    = "KUBE-ROUTER-INPUT"
	forward  = "KUBE-ROUTER-FORWARD"
	output   = "KUBE-ROUTER-OUTPUT"
	common   = "KUBE-NWPLCY-COMMON"
	defaults = "KUBE-NWPLCY-DEFAULT"
	deny     = "KUBE-NWPLCY-DENY" // with cluster policies
)

// Names of the sets of what IPVS serves, as kube-router names them.
const (
	servedAddrs = "kube-router-svip"
	servedPorts = "kube-router-svip-prt"
)

// podChain is the firewall chain of a pod.
func podChain(p *topology.Pod) string {
	return "KUBE-POD-FW-" + policy.Hash(16, p.Namespace, p.Name)
}

// sectionChain is the chain of a policy in one direction: one character of the hash
// for each of the direction's, since names have at most 28.
func sectionChain(s *policy.Section) string {
	kind := map[topology.PolicyTier]string{"": "NWPLCY", topology.AdminTier: "ADMPOL", topology.BaselineTier: "BASPOL"}[s.Tier]
	direction := "IN"
	if s.Direction == policy.Egress {
		direction = "EG"
	}
	return "KUBE-" + kind + "-" + direction + "-" + policy.Hash(13, s.Key()...)
}

// The contents of a set.
const (
	subject = "subject" // the pods that a policy selects
	pods    = "pods"    // of peers
	blocks  = "blocks"
	named   = "named"
)

// setName is the name of a set of a rule, or of a policy's own pods. Source and
// destination are those of packets.
func (c *compiler) setName(s *policy.Section, rule int, content string) string {
	own := content == subject || content == named && s.Direction == policy.Ingress
	prefix := "KUBE-SRC-"
	if own == (s.Direction == policy.Ingress) {
		prefix = "KUBE-DST-"
	}
	parts := append(s.Key(), content)
	if content != subject {
		parts = append(parts, strconv.Itoa(rule))
	}
	if c.IPv6 {
		prefix = "inet6:" + prefix
	}
	return prefix + policy.Hash(16, parts...)
}
