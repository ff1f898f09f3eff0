package bgp

import "net/netip"

// Converge returns the tables of speakers once all have heard everything, in their order.
func Converge(speakers []*Speaker) []*Table {
	type session struct{ speaker, peer int }
	ends := map[[2]netip.Addr]session{}
	tables := make([]*Table, len(speakers))
	for i, s := range speakers {
		tables[i] = NewTable(s)
		for k := range s.Peers {
			ends[[2]netip.Addr{s.Peers[k].Local, s.Peers[k].Addr}] = session{i, k}
		}
	}
	type news struct {
		speaker int
		prefix  netip.Prefix
	}
	var queue []news
	for i, s := range speakers {
		for k := range s.Peers {
			p := &s.Peers[k]
			far, ok := ends[[2]netip.Addr{p.Addr, p.Local}]
			if ok && !p.Down && !speakers[far.speaker].Peers[far.peer].Down {
				tables[i].Up(p, speakers[far.speaker].ID)
			}
		}
		for _, prefix := range s.Announces {
			queue = append(queue, news{i, prefix})
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		i, prefix := queue[0].speaker, queue[0].prefix
		for k := range speakers[i].Peers {
			p := &speakers[i].Peers[k]
			path, withdraw, changed := tables[i].Tell(p, prefix)
			if !changed {
				continue
			}
			far := ends[[2]netip.Addr{p.Addr, p.Local}]
			to := &speakers[far.speaker].Peers[far.peer]
			if withdraw && tables[far.speaker].Withdraw(to, prefix) || !withdraw && tables[far.speaker].Learn(to, path) {
				queue = append(queue, news{far.speaker, prefix})
			}
		}
	}
	return tables
}
