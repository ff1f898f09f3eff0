package probe

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/netip"

	"github.com/netlab/netlab/datapath/flow"
)

// Answer is what an agent reports about itself and the client.
type Answer struct {
	Name  string         `json:"name"`
	Node  string         `json:"node"`
	Proto flow.Protocol  `json:"proto"`
	Local netip.AddrPort `json:"local"` // the server's address
	Peer  netip.AddrPort `json:"peer"`  // the client's address
	// Forwarded is the client for whom a proxy asks over HTTP, by X-Forwarded-For; not valid:
	// none says so, and it is left out.
	Forwarded netip.Addr `json:"forwarded,omitzero"`
	// Asked is the HTTP request as it arrived; nil: it was none, and it is left out.
	Asked *Asked `json:"asked,omitempty"`
	// TTL, or hop limit, of the first packet when it arrived; 0: unknown, and left out.
	TTL int `json:"ttl,omitempty"`
}

// Asked is an HTTP request as a server sees it.
type Asked struct {
	Host   string            `json:"host"`
	Path   string            `json:"path"`             // with its query
	Header map[string]string `json:"header,omitempty"` // by names in lower case
}

// fields are what it holds, as an Observation has it; nil: nothing is known.
func (a *Asked) fields() map[string]string {
	if a == nil {
		return nil
	}
	out := maps.Clone(a.Header)
	if out == nil {
		out = map[string]string{}
	}
	out[flow.SeenHost], out[flow.SeenPath] = a.Host, a.Path
	return out
}

// answerStart begins every answer.
const answerStart = `{"name":`

// Line is the answer as an agent writes it, its newline included.
func (a Answer) Line() []byte { return a.appendLine(nil) }

// appendLine appends the whole line, its newline included.
func (a Answer) appendLine(b []byte) []byte {
	line, _ := json.Marshal(a) // an answer can always be marshalled
	return append(append(b, line...), '\n')
}

// ParseAnswer reads one line of the protocol. It reports false for anything that an
// agent would not send.
func ParseAnswer(line []byte) (Answer, bool) {
	var a Answer
	if !bytes.HasPrefix(line, []byte(answerStart)) {
		return a, false
	}
	if json.Unmarshal(line, &a) != nil || a.Name == "" {
		return Answer{}, false
	}
	return a, true
}
