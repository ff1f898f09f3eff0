package plan

import (
	"encoding/json"
	"fmt"
)

// MarshalJSON returns the plan for other programs: names and numbers as the tools print
// them, rules as input for iptables-restore, each with the object that it serves.
func (p *Plan) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(struct {
		Lab    string  `json:"lab"`
		Digest string  `json:"digest"`
		Netns  []Netns `json:"netns"`
	}{p.Lab, p.Digest(), orEmpty(p.Netns)})
	if err != nil {
		return nil, fmt.Errorf("plan %q: %w", p.Lab, err)
	}
	return b, nil
}

// orEmpty makes a list without elements [], not null.
func orEmpty[T any](list []T) []T { return append([]T{}, list...) }

// MarshalJSON returns the settings as an object.
func (list Sysctls) MarshalJSON() ([]byte, error) {
	values := make(map[string]string, len(list))
	for _, s := range list {
		values[s.Key] = s.Value
	}
	return json.Marshal(values)
}

// MarshalJSON returns times in microseconds.
func (q *Qdisc) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Dev      string  `json:"dev"`
		DelayUs  int64   `json:"delayMicroseconds,omitempty"`
		JitterUs int64   `json:"jitterMicroseconds,omitempty"`
		Loss     float64 `json:"loss,omitempty"`          // share of the packets
		Rate     uint64  `json:"bitsPerSecond,omitempty"` // 0: any
		Origin   Origin  `json:"origin,omitzero"`
	}{q.Link, q.Delay.Microseconds(), q.Jitter.Microseconds(), q.Loss, q.Rate, q.Origin})
}
