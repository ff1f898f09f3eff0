package topology

// What holds the addresses of services on a node in proxy mode ipvs.
const (
	AddressesDummy  = "dummy"        // the device kube-ipvs0
	AddressesRoutes = "local_routes" // routes of the table local
)

// Schedulers are the IPVS schedulers that a lab can have, the default first: those
// that kube-proxy names, then the others of the kernel.
func Schedulers() []string {
	return []string{"rr", "wrr", "lc", "wlc", "sh", "dh", "sed", "nq", "mh", "lblc", "lblcr", "fo", "ovf", "twos"}
}

// maxWeight is the largest weight of a real server: ipvsadm takes no more.
const maxWeight = 65535

func (r *resolver) ipvs() {
	s, p := &r.spec.Proxy.IPVS, &r.lab.Proxy.IPVS
	p.Scheduler = r.enum(s.Scheduler, "IPVS scheduler", "rr", Schedulers(), nil)
	p.StrictARP = s.StrictARP.Value
	p.Addresses = r.enum(s.Addresses, "place for service addresses", AddressesDummy, []string{AddressesDummy, AddressesRoutes}, nil)
}

// weight checks the weight of an endpoint, which means something in proxy mode ipvs
// only.
func (r *resolver) weight(e EndpointSpec) {
	if !e.Weight.Set {
		return
	}
	if r.number(e.Weight, "weight", 1, 0, maxWeight) == e.Weight.Value && r.lab.Proxy.Mode != proxyIPVS {
		r.warnf(at(e.Weight.Origin), "Weight without IPVS",
			"Only proxy mode ipvs knows weights, and this lab has mode %s, so every endpoint gets the same. Remove weight, or write proxy { mode = \"ipvs\" }.", r.lab.Proxy.Mode)
	}
}
