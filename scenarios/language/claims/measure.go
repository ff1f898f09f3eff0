package claims

import (
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
)

// measures reads what an expectation measures.
func (l *reader) measures(e *expect.Reach, c *expectBody, sc blocks.Scope) {
	e.Latency = l.bound(e, c, "latency", `"40ms"`, sc, func(s string) (float64, bool) {
		d, err := time.ParseDuration(s)
		return d.Seconds(), err == nil && d > 0
	})
	e.Throughput = l.bound(e, c, "throughput", `"10mbit"`, sc, func(s string) (float64, bool) {
		rate, ok := blocks.BitRate(s)
		return float64(rate), ok && rate > 0
	})
	const smallest, largest = 68, 65535 // RFC 791
	e.MTU = l.between(c.mtu, sc, "MTU", smallest, largest)
	const most = 1 << 30
	e.Upload = l.between(c.upload, sc, "upload", 1, most)
	if upload := e.Throughput != nil || e.MTU != 0 || e.Upload != 0; upload && (e.Protocol != "" && e.Protocol != flow.TCP || e.HTTP != nil) {
		l.Errorf(measured(c), "Measured over TCP only", "An upload, by which throughput and MTU are measured, is over TCP. Set protocol = \"tcp\", or remove it.")
	}
	if e.Measured() && e.Outcome != flow.Connected {
		l.Errorf(measured(c), "Nothing to measure", "With outcome %q there is no connection to measure. Remove this, or the outcome.", e.Outcome)
	}
	if e.Throughput != nil && c.within == nil {
		e.Within = maxUpload
	}
}

// maxUpload is the deadline of an upload that sets none: enough for 500 kbit/s.
const maxUpload = 10 * time.Second

// measured is the place of the first thing that is measured, or uploaded.
func measured(c *expectBody) hcl.Range {
	for _, kind := range []string{"latency", "throughput"} {
		if b := c.Named(kind); len(b) > 0 {
			return b[0].KindRange
		}
	}
	if c.mtu != nil {
		return c.mtu.NameRange
	}
	return c.upload.NameRange
}

// bound reads a latency or throughput block; nil where there is none, or none that is
// be used.
func (l *reader) bound(e *expect.Reach, c *expectBody, kind, example string, sc blocks.Scope, parse func(string) (float64, bool)) *expect.Bound {
	b := l.Option(c.Content, kind)
	if b == nil {
		return nil
	}
	bc := &boundBody{}
	bc.Content = l.Read(b, bc.table(kind))
	out := &expect.Bound{}
	value := func(a *hcl.Attribute) float64 {
		v, ok := l.Value(a, sc)
		if !ok {
			return 0
		}
		s, _ := blocks.AsText(v)
		x, ok := parse(s)
		if !ok {
			l.Invalid(a, kind, "be a "+kind+" above 0", example, v)
		}
		return x
	}
	out.Min, out.Max = value(bc.min), value(bc.max)
	out.AtLeast, out.AtMost = l.Factor(bc.atLeast, sc), l.Factor(bc.atMost, sc)
	if a := bc.than; a != nil {
		if from, ok := l.dialers(a, sc); ok && len(from) == 1 {
			out.Than = &from[0].place
		} else if ok {
			l.Errorf(a.Expr.Range(), "Several to compare with", "than must be one pod, node or client. Name one of them.")
		}
	}
	ratio := bc.atLeast != nil || bc.atMost != nil
	switch {
	case bc.Given == 0:
		l.Errorf(b.KindRange, "Empty bound", "The %s block bounds nothing. Add min = %s.", kind, example)
	case ratio && bc.than == nil:
		l.Errorf(b.KindRange, "Factor of nothing", "at_least and at_most are factors of what another dialer measures. Add than = client.NAME.")
	case !ratio && bc.than != nil:
		l.Errorf(bc.than.NameRange, "Compared without factor", "than has no effect alone. Add at_least = 2, or remove it.")
	case out.Min > 0 && out.Max > 0 && out.Min > out.Max:
		l.Errorf(bc.min.Expr.Range(), "Bounds exclude everything", "min is above max, so nothing can meet both. Swap them.")
	}
	if ratio && out.Than == nil {
		return nil
	}
	return out
}
