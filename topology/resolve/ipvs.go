package resolve

import "github.com/netlab/netlab/topology"

// Schedulers are the IPVS schedulers that a lab can have, the default first: those
// that kube-proxy documents, then the others of the kernel.
func Schedulers() []string {
	return []string{"rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq", "mh", "lblc", "lblcr", "fo", "ovf", "twos"}
}

// maxWeight is the largest weight of a real server: ipvsadm takes no more.
const maxWeight = 65535

func (r *resolver) ipvs() {
	s, p := &r.spec.Proxy.IPVS, &r.lab.Proxy.IPVS
	p.Scheduler = r.enum(s.Scheduler, "IPVS scheduler", "rr", Schedulers(), nil)
	p.StrictARP = s.StrictARP.Value
	p.Addresses = r.enum(s.Addresses, "addresses setting", topology.AddressesDummy, []string{topology.AddressesDummy, topology.AddressesRoutes}, nil)
}

// weight checks the weight of an endpoint, which only virtual servers have.
func (r *resolver) weight(e topology.EndpointSpec) {
	if !e.Weight.Set {
		return
	}
	var balancing []string
	for _, m := range r.catalogue.Proxies {
		if m.VirtualServers {
			balancing = append(balancing, m.Name)
		}
	}
	if r.number(e.Weight, "weight", 1, 0, maxWeight) == e.Weight.Value && !r.lab.Proxy.Mode.VirtualServers && len(balancing) > 0 {
		r.warnf(at(e.Weight.Origin), "Weight without IPVS",
			"Only proxy mode %s uses weights; this lab has mode %s, so all endpoints get the same share. Remove weight, or write proxy { mode = %q }.",
			topology.OneOf(balancing), r.lab.Proxy.Mode.Name, balancing[0])
	}
}
