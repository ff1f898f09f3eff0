package iptables

import (
	"crypto/sha256"
	"encoding/base32"

	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/topology"
)

// Names of the chains that exist without any service.
const (
	services         = "KUBE-SERVICES"
	externalServices = "KUBE-EXTERNAL-SERVICES"
	nodePorts        = "KUBE-NODEPORTS"
	postrouting      = "KUBE-POSTROUTING"
	markMasq         = "KUBE-MARK-MASQ"
	markDrop         = "KUBE-MARK-DROP" // of the kubelet
	forward          = "KUBE-FORWARD"
	proxyFirewall    = "KUBE-PROXY-FIREWALL"
	firewall         = "KUBE-FIREWALL" // shared with kubelet
	canary           = "KUBE-PROXY-CANARY"
	kubeletCanary    = "KUBE-KUBELET-CANARY"
)

// portName names a service port: default/web:http, or default/web where the port
// has no name. Old layouts write default/web: then.
func portName(p *service.Port, colon bool) string {
	if colon && p.Port.Name == "" {
		return p.Name() + ":"
	}
	return p.Name()
}

// chainHash is what chain names end in: part of a hash, for a chain's name has at
// most 28 characters.
func chainHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base32.StdEncoding.EncodeToString(sum[:10]) // 16 characters
}

// chainNames are the chains of one service port.
type chainNames struct {
	svc string // endpoints under policy Cluster
	svl string // endpoints under policy Local
	ext string // all external destinations
	fw  string // sources that may use load balancer addresses
	xlb string // old layouts: external destinations under policy Local
}

func namesOf(port string, protocol topology.Protocol) chainNames {
	h := chainHash(port + string(protocol))
	return chainNames{svc: "KUBE-SVC-" + h, svl: "KUBE-SVL-" + h, ext: "KUBE-EXT-" + h, fw: "KUBE-FW-" + h, xlb: "KUBE-XLB-" + h}
}

// endpointChain is the chain of one endpoint, given as address and port.
func endpointChain(port string, protocol topology.Protocol, endpoint string) string {
	return "KUBE-SEP-" + chainHash(port+string(protocol)+endpoint)
}
