//go:build linux

package socket

import (
	"slices"
	"testing"
)

// A message that has to be in the same transaction as the next one is never the last of its
// part.
func TestJoinedMessagesStayTogether(t *testing.T) {
	m := func(bytes int, joined bool) Message { return Message{Data: make([]byte, bytes), Joined: joined} }
	for _, row := range []struct {
		msgs     []Message
		n, bytes int
	}{
		{[]Message{m(8, false), m(16, true)}, 1, 8},
		{[]Message{m(8, true), m(16, true), m(32, false), m(64, false)}, 3, 56},
		{[]Message{m(8, true)}, 1, 8},
	} {
		if n, bytes := joined(row.msgs); n != row.n || bytes != row.bytes {
			t.Errorf("got %d messages of %d bytes, want %d of %d", n, bytes, row.n, row.bytes)
		}
	}
}

// The kernel takes for each message as long as its transaction already is, so what is early goes
// in parts; the rest is one transaction, as is all of a small change.
func TestManyEarlyMessagesGoInParts(t *testing.T) {
	m := func(early bool) Message { return Message{Data: make([]byte, 1<<10), Early: early} }
	list := func(early, rest int) []Message {
		return slices.Concat(slices.Repeat([]Message{m(true)}, early), slices.Repeat([]Message{m(false)}, rest))
	}
	const whole = 1 << 30
	for _, row := range []struct {
		early, rest, limit int
		want               []int
	}{
		{100, 100, whole, []int{200}},
		{0, 1000, whole, []int{1000}},
		{600, 10, whole, []int{255, 255, 90, 10}},
		{300, 600, whole, []int{255, 45, 600}},
		{300, 600, 128 << 10, []int{127, 127, 46, 127, 127, 127, 127, 92}},
	} {
		var got []int
		for _, part := range parts(list(row.early, row.rest), row.limit) {
			got = append(got, len(part))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%d early messages and %d others: parts of %v, want %v", row.early, row.rest, got, row.want)
		}
	}
}
