package datapath

import (
	"github.com/netlab/netlab/datapath/podnet"
	"github.com/netlab/netlab/datapath/podnet/hostgw"
	"github.com/netlab/netlab/datapath/podnet/vxlan"
	"github.com/netlab/netlab/datapath/policy"
	"github.com/netlab/netlab/datapath/policy/calico"
	"github.com/netlab/netlab/datapath/policy/kuberouter"
	"github.com/netlab/netlab/datapath/policy/legacy"
	"github.com/netlab/netlab/datapath/policy/nftables"
	"github.com/netlab/netlab/datapath/service"
	"github.com/netlab/netlab/datapath/service/iptables"
	"github.com/netlab/netlab/datapath/service/ipvs"
)

// Modes returns the pod-network modes, the default first.
func Modes() []podnet.Mode {
	return []podnet.Mode{vxlan.Mode{}, hostgw.Mode{}}
}

// Backends returns the service backends, the default first. The proxy mode none
// has no backend.
func Backends() []service.Backend {
	return []service.Backend{iptables.Backend{}, ipvs.Backend{}}
}

// Styles returns the styles of network policies, the default first.
func Styles() []policy.Style {
	return []policy.Style{kuberouter.Style{}, calico.Style{}, nftables.Style{}, legacy.Style{}}
}
