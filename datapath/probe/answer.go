package probe

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strconv"

	"github.com/netlab/netlab/datapath/flow"
)

// Answer is what an agent reports about itself and the client.
type Answer struct {
	Name  string         `json:"name"`
	Node  string         `json:"node"`
	Proto flow.Protocol  `json:"proto"`
	Local netip.AddrPort `json:"local"` // the server's address
	Peer  netip.AddrPort `json:"peer"`  // the client's address
	// TTL, or hop limit, of the first packet when it arrived; 0: unknown.
	TTL int `json:"ttl"`
}

// answerStart begins every answer; see identity.
const answerStart = `{"name":`

// identity is the part of an answer that is the same for all connections of an
// agent's socket: everything up to the local address.
type identity string

func newIdentity(name, node string, proto flow.Protocol) identity {
	quote := func(s string) string {
		b, _ := json.Marshal(s) // a string can always be marshalled
		return string(b)
	}
	return identity(answerStart + quote(name) + `,"node":` + quote(node) +
		`,"proto":` + quote(string(proto)) + `,"local":"`)
}

// appendLine appends the whole line, its newline included. A TTL of 0 is unknown, and
// left out.
func (id identity) appendLine(b []byte, local, peer netip.AddrPort, ttl uint8) []byte {
	b = append(b, id...)
	b = local.AppendTo(b)
	b = append(b, `","peer":"`...)
	b = peer.AppendTo(b)
	b = append(b, '"')
	if ttl != 0 {
		b = append(b, `,"ttl":`...)
		b = strconv.AppendUint(b, uint64(ttl), 10)
	}
	return append(b, "}\n"...)
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
