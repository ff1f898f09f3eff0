//go:build linux

package inside

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/netlab/netlab/datapath/agents/nameserver"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/plan/zone"
	"github.com/netlab/netlab/datapath/probe"
)

// lookupsAtOnce is how many names are looked up at a time: each lookup has a goroutine.
const lookupsAtOnce = 64

// Dial makes connections, after it has looked up the names among their targets. Requests over TLS
// are made one by one, all others by the loop of the probe.
func (in *Lab) Dial(ctx context.Context, flows []flow.Flow, space func(name string) (*netns.NS, error)) []flow.Observation {
	if !slices.ContainsFunc(flows, func(f flow.Flow) bool { return f.Lookup != nil || f.TLS }) {
		return in.dialInTurn(ctx, flows, space)
	}
	seen := make([]flow.Observation, len(flows))
	places := lookUp(ctx, flows, seen, space)
	places = slices.DeleteFunc(places, func(place int) bool { return flows[place].TLS })
	some := make([]flow.Flow, len(places))
	for i, place := range places {
		some[i] = seen[place].Flow
	}
	in.dialSecure(ctx, flows, seen, space)
	for i, o := range in.dialInTurn(ctx, some, space) {
		o.Flow = flows[places[i]]
		seen[places[i]] = o
	}
	return seen
}

// lookUp fills in the observations of flows whose name has no address, and returns the places of
// the others, whose flows in the observations have the address that was found.
func lookUp(ctx context.Context, flows []flow.Flow, seen []flow.Observation, space func(name string) (*netns.NS, error)) (places []int) {
	var all sync.WaitGroup
	slots := make(chan struct{}, lookupsAtOnce)
	for i, f := range flows {
		seen[i].Flow = f
		if f.Lookup == nil {
			continue
		}
		ns, err := space(f.From)
		if err != nil {
			seen[i].Outcome, seen[i].Err = flow.Failed, err.Error()
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			addrs, err := addresses(ns, f)
			o := &seen[i]
			switch {
			case ctx.Err() != nil:
				o.Outcome, o.Err = flow.Failed, ctx.Err().Error()
			case err != nil:
				o.Outcome, o.Err, o.Took = flow.DNS, err.Error(), time.Since(began)
			case !slices.Contains(addrs, f.To.Addr()):
				o.Flow.To = netip.AddrPortFrom(addrs[0], f.To.Port())
			}
		})
	}
	all.Wait()
	for i := range seen {
		if seen[i].Outcome == "" {
			places = append(places, i)
		}
	}
	return places
}

// addresses asks the name servers of a namespace for those of the name that a flow is for.
func addresses(ns *netns.NS, f flow.Flow) ([]netip.Addr, error) {
	of := zone.A
	if f.Lookup.IPv6 {
		of = zone.AAAA
	}
	dial := func(protocol string, to netip.AddrPort, within time.Duration) (net.Conn, error) {
		return dialFrom(context.Background(), ns, protocol, to, within)
	}
	return nameserver.Ask(dial, nameserver.Question{Servers: f.Lookup.Servers, Names: f.Lookup.Names, Type: of, Within: cmp.Or(f.Within, probe.DefaultWithin)})
}
