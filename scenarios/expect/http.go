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
	Header  map[string]string // fields that the response must have, with these values; "": not at all
	Seen    map[string]string // the same of the request as the server sees it, flow.SeenHost and flow.SeenPath too
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

// The fields of the HTTP response, as far as the plan has them.
var headerCheck = check{
	name:       "http header",
	attributes: []string{"http"},
	wanted: func(r *Reach, _ int) []string {
		if r.HTTP == nil {
			return nil
		}
		return r.HTTP.listed(r.HTTP.Header, "header ")
	},
	part: func(r flow.Result) any { return [2]any{r.Status, r.Header} },
	each: func(p *Pair, r flow.Result) (string, bool) {
		if p.HTTP == nil || r.Status == 0 {
			return "", true // covered by the status
		}
		for _, name := range slices.Sorted(maps.Keys(p.HTTP.Header)) {
			got, known, there := r.Header.Get(strings.ToLower(name))
			if why := differs("header "+name, got, p.HTTP.Header[name]); (known || !there) && why != "" {
				return why, false
			}
		}
		return "", true
	},
}

// The request as the server sees it, behind a proxy that may have changed it.
var seenCheck = check{
	name:       "seen",
	attributes: []string{"http"},
	wanted: func(r *Reach, _ int) []string {
		if r.HTTP == nil {
			return nil
		}
		return r.HTTP.listed(r.HTTP.Seen, "asked for ")
	},
	part: func(r flow.Result) any { return [2]any{r.Status, r.Seen} },
	each: func(p *Pair, r flow.Result) (string, bool) {
		if p.HTTP == nil || r.Status == 0 {
			return "", true // covered by the status
		}
		for _, name := range slices.Sorted(maps.Keys(p.HTTP.Seen)) {
			got, known, there := r.Seen.Get(strings.ToLower(name))
			if !there {
				return "what answers does not tell what it was asked for", false
			}
			if why := differs(seenWord(name)+" of the request that the server saw", got, p.HTTP.Seen[name]); known && why != "" {
				return why, false
			}
		}
		return "", true
	},
}

// differs says how a value is not what it should be; "": it is.
func differs(what, got, want string) string {
	switch {
	case got == want:
		return ""
	case got == "":
		return fmt.Sprintf("no %s, which should be %q", what, want)
	case want == "":
		return fmt.Sprintf("%s is %q, and should not be there", what, got)
	}
	return fmt.Sprintf("%s is %q, not %q", what, got, want)
}

// seenWord is what of a request a name is for.
func seenWord(name string) string {
	switch name {
	case flow.SeenHost:
		return "host"
	case flow.SeenPath:
		return "path"
	}
	return "header " + name
}

// listed are claims of fields, in the order of their names.
func (h *HTTP) listed(fields map[string]string, what string) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		word := strings.TrimPrefix(seenWord(name), "header ")
		if fields[name] == "" {
			texts = append(texts, "no "+what+word)
			continue
		}
		texts = append(texts, what+word+": "+fields[name])
	}
	return texts
}
