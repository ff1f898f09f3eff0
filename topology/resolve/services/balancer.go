package services

import (
	"fmt"
	"slices"
	"time"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// The bounds of health checks. Several balancers that check many nodes share the machine.
const (
	minInterval  = 100 * time.Millisecond
	maxInterval  = 5 * time.Minute
	minTimeout   = 10 * time.Millisecond
	maxThreshold = 10
)

// balancer resolves the host that is the load balancer of a service. It says whether there is
// one, and gives the service its addresses.
func (r *resolver) balancer(s *resolving) bool {
	on, check := s.spec.LoadBalancerOn, s.spec.LoadBalancerCheck
	if !on.Set {
		if check != nil {
			r.Errorf(draft.At(check.Origin), "Check without load balancer",
				"A check is made by a host. Write which client is the load balancer, such as on = client.balancer, or remove the check.")
		}
		return false
	}
	i := slices.IndexFunc(r.Lab.Clients, func(c *topology.Client) bool { return c.Name == on.Value })
	if i < 0 {
		r.Undeclared("client", on.Value, func(yield func(string) bool) {
			for _, c := range r.Lab.Clients {
				if !yield(c.Name) {
					return
				}
			}
		}, draft.At(on.Origin))
		return true
	}
	c := r.Lab.Clients[i]
	s.Balancer = &topology.Balancer{Client: c, Check: r.check(check)}
	if ips := s.spec.LoadBalancerIPs; ips.Set {
		r.Errorf(draft.At(ips.Origin, on.Origin), "Given twice",
			"The addresses of the load balancer are those of client %q, on which it is. Remove the address.", c.Name)
	}
	if mode := s.spec.LoadBalancerMode; mode.Set && mode.Value == "VIP" {
		r.Errorf(draft.At(mode.Origin), "Nodes would hide the balancer",
			"With ip_mode VIP nodes translate the address themselves, so that pods would not reach the load balancer on client %q. Use Proxy, or leave it out.", c.Name)
	}
	for _, six := range s.six {
		if a := topology.OfFamily(c.Addrs, six); a.IsValid() {
			s.LoadBalancers = append(s.LoadBalancers, topology.LoadBalancerIP{Addr: a, Proxy: true})
		}
	}
	if len(s.LoadBalancers) == 0 && len(s.six) > 0 && len(c.Addrs) > 0 {
		r.Errorf(draft.At(on.Origin), "No address of that family",
			"Client %q has no %s address, but service %q is %s. Give both the same IP family.", c.Name, draft.FamilyName(s.six[0]), s.Name, draft.FamilyName(s.six[0]))
	}
	return true
}

// check resolves a check block.
func (r *resolver) check(spec *topology.CheckSpec) *topology.Check {
	if spec == nil {
		return nil
	}
	c := &topology.Check{Interval: spec.Interval.Or(time.Second), Timeout: spec.Timeout.Or(500 * time.Millisecond)}
	if c.Interval < minInterval || c.Interval > maxInterval {
		r.Errorf(draft.At(spec.Interval.Origin, spec.Origin), "Interval out of range", "The interval %s is out of range. Use one from 100ms to 5m.", c.Interval)
		c.Interval = time.Second
	}
	if !spec.Timeout.Set {
		c.Timeout = min(c.Timeout, c.Interval)
	}
	if c.Timeout < minTimeout || c.Timeout > c.Interval {
		r.Errorf(draft.At(spec.Timeout.Origin, spec.Origin), "Timeout out of range", "The timeout %s is out of range. Use one from 10ms to the interval, %s.", c.Timeout, c.Interval)
	}
	c.Healthy = r.Number(spec.Healthy, "healthy_threshold", 2, 1, maxThreshold)
	c.Unhealthy = r.Number(spec.Unhealthy, "unhealthy_threshold", 2, 1, maxThreshold)
	return c
}

// balancerPorts reports ports that a load balancer cannot listen on.
func (r *resolver) balancerPorts(all []*resolving) {
	type socket struct {
		client *topology.Client
		port   uint16
	}
	taken := map[socket]string{}
	for _, c := range r.Lab.Clients {
		for _, p := range c.Ports {
			if p.Protocol == topology.TCP {
				taken[socket{c, p.Number}] = fmt.Sprintf("client %q", c.Name)
			}
		}
	}
	for _, s := range all {
		if s.Balancer == nil {
			continue
		}
		for _, p := range s.Ports {
			key := socket{s.Balancer.Client, p.Port}
			switch first, ok := taken[key]; {
			case p.Protocol != topology.TCP:
				r.Errorf(draft.At(p.Origin), "Only TCP",
					"A load balancer on a client passes TCP connections on, and cannot serve %s port %d. Use tcp, or leave on out.", p.Protocol, p.Port)
			case ok:
				r.Errorf(draft.At(p.Origin), "Port taken twice",
					"The load balancer of service %q cannot listen on tcp port %d of client %q: %s listens there already. Use another port or client.",
					s.Name, p.Port, key.client.Name, first)
			default:
				taken[key] = fmt.Sprintf("the load balancer of service %q", s.Name)
			}
		}
	}
}
