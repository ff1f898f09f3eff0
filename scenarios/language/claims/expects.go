package claims

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/scenarios/expect"
	"github.com/netlab/netlab/scenarios/language/blocks"
	"github.com/netlab/netlab/scenarios/language/functions"
	"github.com/netlab/netlab/scenarios/language/names"
	"github.com/netlab/netlab/scenarios/language/source"
	"github.com/netlab/netlab/topology"
)

const (
	defaultRetry  = 5 * time.Second
	defaultWithin = time.Second
	maxCount      = 10_000
)

// Read reads the expect and fault blocks of a scenario whose lab is resolved: the claims in the
// order of the files, those of faults last, and the faults.
func Read(b *blocks.Reader, lab *topology.Lab, kinds []topology.FaultKind) ([]*expect.Reach, []*topology.Fault) {
	l := &reader{Reader: b, lab: lab, places: names.New(lab), kinds: kinds}
	l.evalExpects()
	return l.expects, l.faults
}

// reader reads claims about a lab.
type reader struct {
	*blocks.Reader
	lab     *topology.Lab
	places  *names.Places
	kinds   []topology.FaultKind // that a lab can have
	expects []*expect.Reach
	faults  []*topology.Fault
}

func (l *reader) evalExpects() {
	seen := map[string]topology.Origin{}
	for b := range l.Objects("expect") {
		c := &expectBody{}
		c.Content = l.Read(b, c.table())
		for _, e := range l.claims(b, c) {
			l.addClaim(e, cmp.Or(rangeOf(c.name), b.LabelRange), seen)
		}
	}
	l.evalFaults(seen)
}

// addClaim adds an expectation, whose name no other may have.
func (l *reader) addClaim(e *expect.Reach, at hcl.Range, seen map[string]topology.Origin) {
	if first, ok := seen[e.Name]; ok {
		l.Errorf(at, "Duplicate expect", "The expect %q was already declared %s. Rename or remove one of them.", e.Name, first.SeenFrom(e.Origin))
	}
	seen[e.Name] = e.Origin
	l.expects = append(l.expects, e)
}

// claims are what one expect block claims: several things if it is about a model.
func (l *reader) claims(b *blocks.Block, c *expectBody) []*expect.Reach {
	claims := l.claimed(b, c)
	proves := l.Strings(c.proves, b.Scope)
	for _, e := range claims {
		e.Proves = proves
	}
	return claims
}

func (l *reader) claimed(b *blocks.Block, c *expectBody) []*expect.Reach {
	if c.model != nil && !l.IsNull(c.model, b.Scope) {
		return l.model(b, c)
	}
	if c.fails != nil {
		l.Errorf(c.fails.NameRange, "Fails without model", "fails names rules of a model. Add model = %q, or write outcome.", kubernetesModel)
	}
	if e := l.evalExpect(b, c); e != nil {
		return []*expect.Reach{e}
	}
	return nil
}

func rangeOf(a *hcl.Attribute) (r hcl.Range) {
	if a != nil {
		r = a.Expr.Range()
	}
	return r
}

// nameOr is the name of an expectation or fault: the one that is written, else the label of
// its block, with the key of the instance.
func (l *reader) nameOr(written *hcl.Attribute, b *blocks.Block) string {
	name := b.Label
	if b.Key != "" {
		name += ": " + b.Key
	}
	return l.Text(written, b.Scope).Or(name)
}

// evalExpect resolves one expect block, or returns nil if anything in it is wrong.
func (l *reader) evalExpect(b *blocks.Block, c *expectBody) *expect.Reach {
	e := &expect.Reach{
		Name: l.nameOr(c.name, b), Origin: b.Origin(),
		Within: l.Duration(c.within, defaultWithin, false, b.Scope),
		Retry:  l.Duration(c.retry, defaultRetry, true, b.Scope),
	}
	l.outcome(e, c, b.Scope)
	if e.Name == "" {
		l.Errorf(b.LabelRange, "Expectation without name", "An expectation needs a name. Write expect \"what is claimed\" { … }.")
	}
	e.State = l.stateOf(c, b.Scope)
	if l.onlyState(c, e.State) {
		return e
	}
	e.Count = l.between(c.count, b.Scope, "count", 1, maxCount)
	for _, a := range c.table().Attrs {
		if a.Required && c.Attr(a.Name) == nil {
			l.Errorf(b.LabelRange, "Missing attribute", "The expectation %q has no %s. Add %s = …", b.Label, a.Name, a.Name)
		}
	}
	from, fromOK := l.dialers(c.from, b.Scope)
	toOK := l.targets(e, c, from, b.Scope)
	table := c.allow != nil
	for _, a := range []*hcl.Attribute{c.answer, c.source, c.forwarded, c.sticky, c.ttl} {
		if a != nil && !table && e.Outcome != flow.Connected && !l.IsNull(a, b.Scope) {
			l.Errorf(a.NameRange, "No answer expected", "With outcome %q there is no answer, so %s cannot hold. Remove %s, or the outcome.", e.Outcome, a.Name, a.Name)
		}
	}
	e.Answers = l.answers(c.answer, b.Scope)
	if !fromOK || !toOK {
		return nil
	}
	for _, f := range from {
		e.From = append(e.From, f.place)
	}
	if len(e.From)*len(e.To) > functions.MaxPairs {
		l.Errorf(b.LabelRange, "Too many pairs", "This expectation has %d pairs. The limit is %d.", len(e.From)*len(e.To), functions.MaxPairs)
		return nil
	}
	e.Allow = l.allow(e, c, from, b.Scope)
	e.Sticky = l.Boolean(c.sticky, b.Scope).Value
	if sb := c.Named("spread"); e.Sticky && len(sb) > 0 {
		l.Errorf(sb[0].KindRange, "Sticky and spread", "A client that always gets the same answer has no spread. Remove sticky or the spread block.")
	}
	if e.Sticky && (e.Mix != nil || e.Sometimes) {
		l.Errorf(c.sticky.NameRange, "Sticky, but not always", "A client that always gets the same answer always gets one. Remove sticky, or claim one outcome for all connections.")
	}
	if sb := c.Named("spread"); e.Mix != nil && len(sb) > 0 {
		l.Errorf(sb[0].KindRange, "Two sets of weights", "The weights of outcome and of a spread cannot be claimed together. Remove one, or write another expectation.")
	}
	e.Sources = l.sourcePrefixes(c.source, from, b.Scope)
	e.Forwarded = l.sourcePrefixes(c.forwarded, from, b.Scope)
	if c.forwarded != nil && e.HTTP == nil {
		l.Errorf(c.forwarded.NameRange, "Forwarded without HTTP", "Only over HTTP does a proxy tell for whom it asks. Add protocol = \"http\", or remove it.")
	}
	if sb := l.Option(c.Content, "spread"); sb != nil {
		e.Spread = l.spread(sb, e, b.Scope)
	}
	const largest = 255 // RFC 791, RFC 8200
	a := c.ttl
	if e.TTL = l.between(a, b.Scope, "TTL", 1, largest); a != nil && e.Protocol == flow.SCTP && l.Number(a, b.Scope).Set {
		l.Errorf(a.NameRange, "TTL over SCTP", "Servers cannot read the TTL of SCTP packets. Remove ttl, or claim it over tcp or udp.")
	}
	l.measures(e, c, b.Scope)
	l.lookedAt(e, c)
	return e
}

// between reads a number within bounds; 0: not set.
func (l *reader) between(a *hcl.Attribute, sc blocks.Scope, what string, least, most int) int {
	n := l.Number(a, sc)
	if n.Set && (n.Value < least || n.Value > most) {
		l.Errorf(source.RangeOf(n.Origin), strings.ToUpper(what[:1])+what[1:]+" out of range", "The %s %d is out of range. Use a number from %d to %d.", what, n.Value, least, most)
	}
	return n.Value
}

// dialer is a node, client, router or pod that dials, with its object, which is each.from.
type dialer struct {
	place  expect.Place
	object cty.Value
}

func (l *reader) dialers(a *hcl.Attribute, sc blocks.Scope) ([]dialer, bool) {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil, false
	}
	var out []dialer
	for _, o := range blocks.ObjectsIn(v) {
		place, ok := l.place(o)
		switch {
		case ok:
			out = append(out, dialer{place, o})
		case blocks.IsKind(o, blocks.HostKinds...):
			l.Silent = true // not resolved, and reported
			return nil, false
		default:
			l.Errorf(a.Expr.Range(), "Cannot dial from there", "from must be a pod, node, client, router or a list of them, not %s.%s", blocks.QuoteOr(o), l.suggest(o))
			return nil, false
		}
	}
	if len(out) == 0 {
		l.Errorf(a.Expr.Range(), "Nothing to dial from", "from is an empty list, so nothing would be tried. Name a pod, node, client or router.")
		return nil, false
	}
	return out, true
}

// answers reads the agents that may answer.
func (l *reader) answers(a *hcl.Attribute, sc blocks.Scope) []string {
	v, ok := l.Value(a, sc)
	if !ok {
		return nil
	}
	var out []string
	for _, o := range blocks.ObjectsIn(v) {
		name, _ := blocks.AsText(o)
		if blocks.IsKind(o, "pod", "client") {
			if place, ok := l.place(o); ok {
				name = place.Name
			}
		}
		if !slices.Contains(l.places.Agents, name) {
			if blocks.IsKind(o, "pod", "client") {
				l.Errorf(a.Expr.Range(), "Nothing listens there", "%s %q has no port, so it cannot answer. Give it a port block.", blocks.Describe(o)[2:], blocks.TextOf(o, "name"))
			} else {
				l.Errorf(a.Expr.Range(), "Cannot answer", "answer must be a pod, a client or a list of them, not %s.%s", blocks.QuoteOr(o), topology.DidYouMean(name, l.places.Agents))
			}
			continue
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(blocks.ObjectsIn(v)) == 0 {
		l.Errorf(a.Expr.Range(), "Empty answer", "answer is an empty list. Name a pod, or set an outcome.")
	}
	slices.Sort(out)
	return out
}

// sourcePrefixes reads what the server must see, once per dialer: the expression may refer
// to each.from.
func (l *reader) sourcePrefixes(a *hcl.Attribute, from []dialer, sc blocks.Scope) [][]netip.Prefix {
	if a == nil {
		return nil
	}
	var out [][]netip.Prefix
	for _, f := range from {
		v, ok := l.Value(a, sc.With(blocks.Scope{"each": cty.ObjectVal(map[string]cty.Value{"from": f.object})}))
		if !ok {
			return nil
		}
		var prefixes []netip.Prefix
		for _, o := range blocks.ObjectsIn(v) {
			list, ok := l.sourcesOf(o)
			if !ok {
				l.Errorf(a.Expr.Range(), "Invalid "+a.Name, "%s must be an address, a CIDR, a node, pod, client or router, or a list of them, not %s. Write %s = each.from.ip.", a.Name, blocks.QuoteOr(o), a.Name)
				return nil
			}
			prefixes = append(prefixes, list...)
		}
		if len(prefixes) == 0 {
			l.Errorf(a.Expr.Range(), "Invalid "+a.Name, "%s is an empty list. Name an address, or remove it.", a.Name)
			return nil
		}
		out = append(out, prefixes)
	}
	return out
}

// spread reads how answers are balanced.
func (l *reader) spread(b *blocks.Block, e *expect.Reach, sc blocks.Scope) *expect.Spread {
	c := &spreadBody{}
	l.Read(b, c.table())
	out := &expect.Spread{}
	tolerance := c.tolerance
	v, ok := l.Value(tolerance, sc)
	if tolerance == nil {
		l.Errorf(b.KindRange, "Spread without tolerance", "A spread needs the deviation that is allowed. Add tolerance = 0.3.")
		return nil
	}
	if ok {
		if v.Type() != cty.Number {
			l.WrongType(tolerance, "a number", "0.3", v)
			return nil
		}
		if out.Tolerance, _ = v.AsBigFloat().Float64(); out.Tolerance <= 0 || out.Tolerance > 1 {
			l.Errorf(tolerance.Expr.Range(), "Tolerance out of range", "tolerance is a fraction of each share. Use a number above 0, up to 1.")
		}
	}
	if len(e.Answers) == 0 {
		l.Errorf(b.KindRange, "Spread without answers", "A spread needs the agents that answer. Add answer = pod.NAME.")
	}
	w := c.weights
	if v, ok := l.Value(w, sc); ok {
		if out.Weights = l.weights(w, v, "one of answer", e.Answers, "a map of numbers", `{ web-0 = 2, web-1 = 1 }`); out.Weights == nil {
			return nil
		}
	}
	return out
}

// http reads what an HTTP request must return; nil where the expectation makes none.
func (l *reader) http(c *expectBody, protocol topology.Protocol, sc blocks.Scope) *expect.HTTP {
	b := l.Option(c.Content, "http")
	if b == nil && protocol != "http" {
		return nil
	}
	out := &expect.HTTP{Path: "/"}
	if b == nil {
		return out
	}
	if protocol != "" && protocol != "http" {
		l.Errorf(b.KindRange, "Protocols differ", "The http block needs protocol \"http\", but it is %q. Remove protocol or the block.", protocol)
	}
	var body httpBody
	l.Read(b, body.table())
	out.Header, out.TLS = body.header, body.tls.Value
	path, status := body.path, body.status
	out.Mute = !body.response.Or(true)
	l.httpHost(out, &body)
	l.sends(out, &body, b)
	l.proxied(out, &body)
	l.seen(out, &body, b)
	if path.Set {
		if out.Path = path.Value; !strings.HasPrefix(out.Path, "/") || strings.ContainsFunc(out.Path, func(r rune) bool { return r <= ' ' || r > '~' }) {
			l.Errorf(source.RangeOf(path.Origin), "Invalid path", "path must begin with \"/\" and hold no space. Write path = \"/healthz\".")
		}
	}
	if out.Status = status.Value; status.Set && (out.Status < 200 || out.Status > 599) {
		l.Errorf(source.RangeOf(status.Origin), "Status out of range", "The status %d does not end a request. Use a number from 200 to 599.", out.Status)
	}
	l.mute(out, c, &body)
	return out
}
