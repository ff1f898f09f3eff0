package resolve

import "github.com/netlab/netlab/topology"

// Schedulers are the IPVS schedulers that a lab can have, the default first: those
// that kube-proxy documents, then the others of the kernel.
func Schedulers() []string {
	return []string{"rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq", "mh", "lblc", "lblcr", "fo", "ovf", "twos"}
}

func (r *resolver) ipvs() {
	s, p := &r.Spec.Proxy.IPVS, &r.Lab.Proxy.IPVS
	p.Scheduler = r.Enum(s.Scheduler, "IPVS scheduler", "rr", Schedulers(), nil)
	p.StrictARP = s.StrictARP.Value
	p.Addresses = r.Enum(s.Addresses, "addresses setting", topology.AddressesDummy, []string{topology.AddressesDummy, topology.AddressesRoutes}, nil)
}
