package resolve

import (
	"fmt"

	"github.com/netlab/netlab/topology"
)

// errorf adds an error at the first of the origins that was written.
func (r *resolver) errorf(at []topology.Origin, summary, format string, args ...any) {
	r.Problems = append(r.Problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at), Instance: r.instance})
}

// warnf is errorf for a warning.
func (r *resolver) warnf(at []topology.Origin, summary, format string, args ...any) {
	r.Problems = append(r.Problems, topology.Problem{Summary: summary, Detail: fmt.Sprintf(format, args...), Origin: firstWritten(at), Warning: true, Instance: r.instance})
}

// of says which object the problems are about that follow.
func (r *resolver) of(kind, block, key string) {
	if r.instance = ""; key != "" {
		r.instance = topology.Address(kind, block, key)
	}
}

func at(origins ...topology.Origin) []topology.Origin { return origins }

func firstWritten(origins []topology.Origin) topology.Origin {
	for _, o := range origins {
		if o != (topology.Origin{}) {
			return o
		}
	}
	return topology.Origin{}
}
