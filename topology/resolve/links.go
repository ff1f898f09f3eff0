package resolve

import (
	"fmt"
	"math"
	"time"

	"github.com/netlab/netlab/topology"
	"github.com/netlab/netlab/topology/resolve/draft"
)

// The bounds of impairments: tc keeps times as 32 bits of microseconds.
const (
	maxDelay   = time.Minute
	minRate    = 8_000 // bits per second: less is a packet in seconds
	minLinkMTU = minMTU
	minMTU6    = 1280 // RFC 8200: what every IPv6 link has to carry
)

// link resolves a link block of an object, which cannot carry more than its subnet.
func (r *resolver) link(who string, s topology.LinkSpec, subnet *topology.Subnet) topology.Link {
	out := topology.Link{Delay: s.Delay.Value, Jitter: s.Jitter.Value, Loss: s.Loss.Value, Rate: s.Rate.Value, MTU: s.MTU.Value, Origin: s.Origin}
	refuse := func(o topology.Origin, summary, format string, args ...any) {
		r.Errorf(draft.At(o, s.Origin), summary, format, args...)
	}
	for _, t := range []struct {
		name string
		topology.Opt[time.Duration]
	}{{"delay", s.Delay}, {"jitter", s.Jitter}} {
		if t.Set && (t.Value < 0 || t.Value > maxDelay) {
			refuse(t.Origin, "Delay out of range", "The %s %s of %s is out of range. Use one from 0s to %s.", t.name, t.Value, who, "1m")
		}
	}
	if out.Jitter > out.Delay && s.Jitter.Set {
		refuse(s.Jitter.Origin, "Jitter above delay", "The delay of %s varies by %s, but is only %s. Use a jitter up to the delay.", who, out.Jitter, out.Delay)
	}
	if s.Loss.Set && (math.IsNaN(out.Loss) || out.Loss < 0 || out.Loss > 1) {
		refuse(s.Loss.Origin, "Loss out of range", "The loss %g of %s is out of range. Use \"0%%\" to \"100%%\", or a number from 0 to 1.", out.Loss, who)
	}
	if s.Rate.Set && out.Rate < minRate {
		refuse(s.Rate.Origin, "Rate out of range", "The rate of %s is %d bits per second. Use at least \"8kbit\".", who, out.Rate)
	}
	least := minLinkMTU
	if topology.PrefixOfFamily(r.Lab.Network.NodeCIDRs, true).IsValid() {
		least = minMTU6
	}
	if s.MTU.Set && (out.MTU < least || out.MTU > subnet.MTU) {
		of := "the network"
		if subnet != r.Lab.Subnets[0] {
			of = cidrOf(subnet)
		}
		refuse(s.MTU.Origin, "MTU out of range", "The MTU %d of %s is out of range. Use a number from %d to %d, that of %s.", out.MTU, who, least, subnet.MTU, of)
	}
	return out
}

// links resolves the link blocks of all objects.
func (r *resolver) links(pods []resolvedPod) {
	for _, p := range pods {
		o := p.spec.Link.Origin
		if p.HostNetwork && o != (topology.Origin{}) {
			r.Errorf(draft.At(o), "Link with host network", "Pod %q uses its node's network, so it has no link. Remove link or host_network.", p.AgentName())
			continue
		}
		p.Link = r.link(fmt.Sprintf("pod %q", p.AgentName()), p.spec.Link, p.Node.Subnet)
	}
}
