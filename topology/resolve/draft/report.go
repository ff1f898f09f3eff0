package draft

import (
	"fmt"

	"github.com/netlab/netlab/topology"
)

// Errorf adds an error at the first of the origins that was written.
func (d *Draft) Errorf(at []topology.Origin, summary, format string, args ...any) {
	d.Problems = append(d.Problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at), Instance: d.instance})
}

// Warnf is Errorf for a warning.
func (d *Draft) Warnf(at []topology.Origin, summary, format string, args ...any) {
	d.Problems = append(d.Problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at), Warning: true, Instance: d.instance})
}

// Of says which object the problems are about that follow.
func (d *Draft) Of(kind, block, key string) {
	if d.instance = ""; key != "" {
		d.instance = topology.Address(kind, block, key)
	}
}

// At is a list of origins, the smallest place first.
func At(origins ...topology.Origin) []topology.Origin { return origins }

func firstWritten(origins []topology.Origin) topology.Origin {
	for _, o := range origins {
		if o != (topology.Origin{}) {
			return o
		}
	}
	return topology.Origin{}
}
