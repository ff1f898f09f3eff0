package userspace

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// balancer takes endpoints in turn.
type balancer struct {
	mu        sync.Mutex
	endpoints []netip.AddrPort
	next      int
	affinity  time.Duration
	clients   map[netip.Addr]choice
	swept     time.Time
}

// choice is the endpoint of a client, and when it was last taken.
type choice struct {
	endpoint netip.AddrPort
	at       time.Time
}

// set replaces the endpoints. Their turn begins anew, and clients stay with those that are
// still there; without a change all goes on.
func (b *balancer) set(endpoints []netip.AddrPort, affinity time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.affinity = affinity
	if slices.Equal(b.endpoints, endpoints) {
		return
	}
	b.endpoints, b.next = slices.Clone(endpoints), 0
	maps.DeleteFunc(b.clients, func(_ netip.Addr, c choice) bool { return !slices.Contains(endpoints, c.endpoint) })
}

// take returns the endpoint for a client. False: there is none.
func (b *balancer) take(client netip.Addr) (netip.AddrPort, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.endpoints) == 0 {
		return netip.AddrPort{}, false
	}
	if had, ok := b.clients[client]; ok && time.Since(had.at) < b.affinity {
		b.keep(client, had.endpoint)
		return had.endpoint, true
	}
	e := b.endpoints[b.next]
	b.next = (b.next + 1) % len(b.endpoints)
	b.keep(client, e)
	return e, true
}

// after returns the endpoint for a client instead of one that did not answer: the next one,
// whose turn it need not be. False: there is none.
func (b *balancer) after(failed netip.AddrPort, client netip.Addr) (netip.AddrPort, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.endpoints) == 0 {
		return netip.AddrPort{}, false
	}
	e := b.endpoints[(slices.Index(b.endpoints, failed)+1)%len(b.endpoints)]
	b.keep(client, e)
	return e, true
}

// keep notes the endpoint of a client, and forgets others that have not come back.
func (b *balancer) keep(client netip.Addr, e netip.AddrPort) {
	if b.affinity == 0 {
		return
	}
	now := time.Now()
	if b.clients == nil {
		b.clients = map[netip.Addr]choice{}
	}
	if now.Sub(b.swept) > b.affinity {
		b.swept = now
		maps.DeleteFunc(b.clients, func(_ netip.Addr, c choice) bool { return now.Sub(c.at) >= b.affinity })
	}
	b.clients[client] = choice{e, now}
}
