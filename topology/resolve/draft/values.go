package draft

import (
	"slices"

	"github.com/netlab/netlab/topology"
)

// Enum checks a word against those that are known and those that are planned, and
// returns it, or def where it is absent or unusable.
func (d *Draft) Enum(o topology.Opt[string], what, def string, known, planned []string) string {
	word := topology.Word(o.Value, known)
	switch {
	case !o.Set:
		return def
	case word != "" || slices.Contains(known, o.Value):
		return word
	case slices.Contains(planned, o.Value):
		d.Errorf(At(o.Origin), "Not supported yet",
			"The %s %q is planned, but this version does not have it. Use %s.", what, o.Value, topology.OneOf(known))
	default:
		d.Errorf(At(o.Origin), "Unknown "+what,
			"%q is not a valid %s.%s Use %s.", Shorten(o.Value), what, topology.DidYouMean(o.Value, known), topology.OneOf(known))
	}
	return def
}

// Number checks that a number is between lo and hi, and returns it or def.
func (d *Draft) Number(o topology.Opt[int], what string, def, lo, hi int) int {
	if !o.Set {
		return def
	}
	if o.Value < lo || o.Value > hi {
		d.Errorf(At(o.Origin), "Number out of range", "The %s %d is out of range. Use a number from %d to %d.", what, o.Value, lo, hi)
		return def
	}
	return o.Value
}

// Protocol is a protocol that ports can have, TCP where none is written.
func (d *Draft) Protocol(o topology.Opt[string]) topology.Protocol {
	return topology.Protocol(d.Enum(o, "protocol", string(topology.TCP), []string{string(topology.TCP), string(topology.UDP), string(topology.SCTP)}, nil))
}
