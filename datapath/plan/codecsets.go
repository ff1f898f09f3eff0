package plan

import "net/netip"

func (e *encoder) sets(list []Set) {
	e.uint(uint64(len(list)))
	for i := range list {
		s := &list[i]
		e.origin(s.Origin)
		e.string(s.Name)
		e.string(string(s.Type))
		e.bool(s.IPv6)
		e.uint(uint64(len(s.Entries)))
		for _, x := range s.Entries {
			e.prefix(x.Prefix)
			e.string(x.Proto)
			e.uint(uint64(x.Port))
			e.prefix(x.Second)
		}
	}
}

func (d *decoder) sets() []Set {
	list := makeList[Set](d)
	for i := range list {
		s := &list[i]
		s.Origin, s.Name, s.Type, s.IPv6 = d.origin(), d.string(), SetType(d.string()), d.bool()
		s.Entries = makeList[SetEntry](d)
		for j := range s.Entries {
			s.Entries[j] = SetEntry{Prefix: d.prefix(), Proto: d.string(), Port: uint16(d.uint()), Second: d.prefix()}
		}
	}
	return list
}

func (e *encoder) virtual(list []VirtualServer) {
	e.uint(uint64(len(list)))
	for i := range list {
		v := &list[i]
		e.origin(v.Origin)
		e.addrPort(v.Addr)
		e.string(v.Proto)
		e.string(v.Scheduler)
		e.strings(v.Flags)
		e.uint(uint64(v.Persistent))
		e.uint(uint64(len(v.Real)))
		for j := range v.Real {
			e.origin(v.Real[j].Origin)
			e.addrPort(v.Real[j].Addr)
			e.uint(uint64(v.Real[j].Weight))
		}
	}
}

func (d *decoder) virtual() []VirtualServer {
	list := makeList[VirtualServer](d)
	for i := range list {
		v := &list[i]
		v.Origin, v.Addr, v.Proto, v.Scheduler = d.origin(), d.addrPort(), d.string(), d.string()
		v.Flags, v.Persistent = d.strings(), int(d.uint())
		v.Real = makeList[RealServer](d)
		for j := range v.Real {
			v.Real[j] = RealServer{Origin: d.origin(), Addr: d.addrPort(), Weight: int(d.uint())}
		}
	}
	return list
}

func (e *encoder) cuts(list []Cut) {
	e.uint(uint64(len(list)))
	for i := range list {
		c := &list[i]
		e.origin(c.Origin)
		e.addr(c.Pod)
		e.bool(c.Ingress)
		e.uint(uint64(len(c.Allow)))
		for j := range c.Allow {
			a := &c.Allow[j]
			e.bool(a.Peer != nil) // nil and empty mean the opposite of each other
			e.uint(uint64(len(a.Peer)))
			for _, p := range a.Peer {
				e.prefix(p)
			}
			e.string(a.Proto)
			e.uint(uint64(a.First))
			e.uint(uint64(a.Last))
		}
	}
}

func (d *decoder) cuts() []Cut {
	list := makeList[Cut](d)
	for i := range list {
		c := &list[i]
		c.Origin, c.Pod, c.Ingress = d.origin(), d.addr(), d.bool()
		c.Allow = makeList[CutAllow](d)
		for j := range c.Allow {
			c.Allow[j] = d.allow()
		}
	}
	return list
}

func (d *decoder) allow() CutAllow {
	var a CutAllow
	some := d.bool()
	a.Peer = makeList[netip.Prefix](d)
	if some && a.Peer == nil {
		a.Peer = []netip.Prefix{}
	}
	for i := range a.Peer {
		a.Peer[i] = d.prefix()
	}
	a.Proto, a.First, a.Last = d.string(), uint16(d.uint()), uint16(d.uint())
	return a
}

func (e *encoder) addrPort(a netip.AddrPort) {
	e.addr(a.Addr())
	e.uint(uint64(a.Port()))
}

func (e *encoder) strings(list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

func (d *decoder) strings() []string {
	list := makeList[string](d)
	for i := range list {
		list[i] = d.string()
	}
	return list
}

// makeList reads the length of a list and makes room for it; an empty list is nil.
func makeList[T any](d *decoder) []T {
	if n := d.len(); n > 0 {
		return make([]T, n)
	}
	return nil
}
