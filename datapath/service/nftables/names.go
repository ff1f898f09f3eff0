package nftables

import (
	"crypto/sha256"
	"encoding/base32"
	"net/netip"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/service"
)

// Names of the chains that exist without any service.
const (
	services           = "services"
	serviceEndpoints   = "service-endpoints-check"
	nodePortEndpoints  = "nodeport-endpoints-check"
	clusterIPsCheck    = "cluster-ips-check"
	firewallCheck      = "firewall-check"
	rejectChain        = "reject-chain"
	markMasq           = "mark-for-masquerade"
	masquerading       = "masquerading"
	tableName          = "kube-proxy"
	maxName            = 240 // bytes, without a prefix
	clusterIPs         = "cluster-ips"
	nodePortIPs        = "nodeport-ips"
	serviceIPs         = "service-ips"
	serviceNodePorts   = "service-nodeports"
	noEndpointServices = "no-endpoint-services"
	noEndpointPorts    = "no-endpoint-nodeports"
	firewallIPs        = "firewall-ips"
)

// baseName is what the chains of a service port end in: 42NFTM6N-default/web/tcp/http.
func baseName(p *service.Port) string { return hashed(plainName(p)) }

func plainName(p *service.Port) string {
	return strings.Join([]string{p.Service.Namespace, p.Service.Name, string(p.Port.Protocol), p.Port.Name}, "/")
}

// endpointName is what the chain and the set of an endpoint end in:
// 5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80. Names have no colons.
func endpointName(p *service.Port, e netip.AddrPort) string {
	addr := strings.ReplaceAll(e.Addr().String(), ":", ".")
	return hashed(plainName(p) + "__" + addr + "/" + strconv.Itoa(int(e.Port())))
}

// hashed begins a name with its hash: names that have to be cut stay different, and those that
// differ in one digit look different.
func hashed(name string) string {
	sum := sha256.Sum256([]byte(name))
	name = base32.StdEncoding.EncodeToString(sum[:])[:8] + "-" + name
	if len(name) > maxName {
		name = name[:maxName-3] + "..."
	}
	return name
}
