package language

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/topology"
)

// link reads the link block of a node, pod or client.
func (l *loader) link(c shape, sc scope) (out topology.LinkSpec) {
	b := l.option(c, "link")
	if b == nil {
		return out
	}
	bc := read[linkBody](l.reader, b, sc)
	if bc.given == 0 {
		l.errorf(b.kindRange, "Empty link", "The link block changes nothing. Write, for example, delay = \"20ms\", or remove it.")
	}
	out = topology.LinkSpec{Origin: b.origin(), Delay: l.delay(bc.delay, sc), Jitter: l.delay(bc.jitter, sc), MTU: l.number(bc.mtu, sc)}
	if a := bc.loss; a != nil {
		if v, ok := l.value(a, sc); ok {
			share, ok := shareOf(v)
			if !ok {
				l.errorf(a.Expr.Range(), "Invalid loss", "loss must be a share of the packets, not %s. Write loss = \"1%%\" or loss = 0.01.", quoteOr(v))
			} else {
				out.Loss = written(share, a)
			}
		}
	}
	if a := bc.rate; a != nil {
		if v, ok := l.value(a, sc); ok {
			s, _ := asText(v)
			rate, ok := bitRate(s)
			if !ok {
				l.errorf(a.Expr.Range(), "Invalid rate", "rate must be a bit rate in the notation of tc, not %s. Write rate = \"10mbit\".", quoteOr(v))
			} else {
				out.Rate = written(rate, a)
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
	s, _ := asText(v)
	percent, found := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	return f / 100, found && err == nil
}
