//go:build linux

package virtual

import (
	"errors"

	moby "github.com/moby/ipvs"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/plan/ipvs"
)

// Counters lists what the virtual servers of the calling thread's namespace, and their real
// servers, have received: the kernel adds that up every two seconds (ip_vs_est.c).
func Counters() ([]plan.Counted, error) {
	d, err := openDirector()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	services, err := d.services()
	if err != nil {
		return nil, err
	}
	var list []plan.Counted
	for _, s := range services {
		reals, err := d.destinations(s)
		if errors.Is(err, unix.ESRCH) {
			continue // deleted since
		} else if err != nil {
			return nil, err
		}
		v, stats := virtualOf(s), []moby.SvcStats{s.Stats}
		for _, r := range reals {
			v.Real = append(v.Real, ipvs.Real{Addr: realAddr(r), Weight: r.Weight})
			stats = append(stats, moby.SvcStats(r.Stats))
		}
		for i, c := range ipvs.Create(nil, []ipvs.Server{v}) {
			list = append(list, plan.Counted{Table: plan.VirtualServers, Rule: string(c.Append(nil)), Packets: uint64(stats[i].PacketsIn), Bytes: stats[i].BytesIn})
		}
	}
	return list, nil
}
