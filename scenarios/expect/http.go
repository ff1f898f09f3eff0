package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netlab/netlab/datapath/flow"
)

// HTTP is one GET request and its expected response.
type HTTP struct {
	Path  string
	Host  string // "": that of the target
	TLS   bool
	Sends flow.Fields // more header fields of the request
	// Proxied is the header of the PROXY protocol that comes first; zero: none.
	Proxied flow.Proxied
	Status  int               // 0: any
	Mute    bool              // there is no response, though the connection is made
	Header  map[string]string // fields that the response must have, with these values
}

// The status of the HTTP response. Agents answer 200, and health checks by their
// endpoints, which the plan knows.
var statusCheck = check{
	name:       "http status",
	attributes: []string{"http"},
	wanted: func(r *Reach, _ int) []string {
		switch {
		case r.HTTP != nil && r.HTTP.Mute:
			return []string{"no HTTP response"}
		case r.HTTP == nil || r.HTTP.Status == 0:
			return nil
		}
		return []string{fmt.Sprintf("status %d", r.HTTP.Status)}
	},
	part: func(r flow.Result) any { return r.Status },
	each: func(p *Pair, r flow.Result) (string, bool) {
		switch {
		case p.HTTP == nil:
			return "", true
		case p.HTTP.Mute && r.Status == 0:
			return "", true
		case p.HTTP.Mute:
			return "there is an HTTP response", false
		case r.Status == 0:
			return "the answer is not an HTTP response", false
		case r.Status != flow.AnyStatus && p.HTTP.Status != 0 && r.Status != p.HTTP.Status:
			return fmt.Sprintf("status %d, not %d", r.Status, p.HTTP.Status), false
		}
		return "", true
	},
}

// The fields of the HTTP response: what a server writes there is not in the plan.
var headerCheck = check{
	name:       "http header",
	attributes: []string{"http"},
	wanted: func(r *Reach, _ int) []string {
		if r.HTTP == nil {
			return nil
		}
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(r.HTTP.Header)) {
			texts = append(texts, name+": "+r.HTTP.Header[name])
		}
		return texts
	},
	measure: func(p *Pair, own, _ []flow.Observation) (_, wrong []string) {
		if p.HTTP == nil {
			return nil, nil
		}
		for _, o := range own {
			if o.Outcome != flow.Connected || o.Status == 0 {
				continue // covered by the outcome and the status
			}
			for _, name := range slices.Sorted(maps.Keys(p.HTTP.Header)) {
				got, ok := o.Header[strings.ToLower(name)]
				text := ""
				switch want := p.HTTP.Header[name]; {
				case !ok:
					text = "no header " + name
				case got != want:
					text = fmt.Sprintf("header %s is %q, not %q", name, got, want)
				}
				if text != "" && !slices.Contains(wrong, text) {
					wrong = append(wrong, text)
				}
			}
		}
		return nil, wrong
	},
}
