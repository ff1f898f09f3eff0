package language

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/topology"
)

// link reads the link block of a node, pod or client.
func (l *loader) link(c blocks.Shape, sc blocks.Scope) (out topology.LinkSpec) {
	b := l.Option(c, "link")
	if b == nil {
		return out
	}
	bc := blocks.Read[linkBody](l.Reader, b, sc)
	if bc.Given == 0 {
		l.Errorf(b.KindRange, "Empty link", "The link block changes nothing. Write, for example, delay = \"20ms\", or remove it.")
	}
	out = topology.LinkSpec{Origin: b.Origin(), Delay: l.Delay(bc.delay, sc), Jitter: l.Delay(bc.jitter, sc), MTU: l.Number(bc.mtu, sc)}
	if a := bc.loss; a != nil {
		if v, ok := l.Value(a, sc); ok {
			share, ok := shareOf(v)
			if !ok {
				l.Errorf(a.Expr.Range(), "Invalid loss", "loss must be a share of the packets, not %s. Write loss = \"1%%\" or loss = 0.01.", blocks.QuoteOr(v))
			} else {
				out.Loss = blocks.Written(share, a)
			}
		}
	}
	if a := bc.rate; a != nil {
		if v, ok := l.Value(a, sc); ok {
			s, _ := blocks.AsText(v)
			rate, ok := bitRate(s)
			if !ok {
				l.Errorf(a.Expr.Range(), "Invalid rate", "rate must be a bit rate in the notation of tc, not %s. Write rate = \"10mbit\".", blocks.QuoteOr(v))
			} else {
				out.Rate = blocks.Written(rate, a)
			}
		}
	}
	return out
}

// shareOf reads "1%" or 0.01.
func shareOf(v cty.Value) (float64, bool) {
	if v.Type() == cty.Number {
		f, _ := v.AsBigFloat().Float64()
		return f, true
	}
	s, _ := blocks.AsText(v)
	percent, found := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	return f / 100, found && err == nil
}
