//go:build linux

package inside

import (
	"bytes"
	"sync"
)

// outputLimit bounds what is kept of what a program wrote, in bytes.
const outputLimit = 64 << 10

// output is the end of what a program wrote to standard output and error.
type output struct {
	mu    sync.Mutex
	kept  []byte
	first int64 // how much was written before it
	tell  func()
}

// Write keeps b, and drops whole lines from the beginning if that is too much.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	o.kept = append(o.kept, b...)
	if over := len(o.kept) - outputLimit; over > 0 {
		if end := bytes.IndexByte(o.kept[over:], '\n'); end >= 0 {
			over += end + 1
		}
		o.kept, o.first = bytes.Clone(o.kept[over:]), o.first+int64(over)
	}
	o.mu.Unlock()
	o.tell()
	return len(b), nil
}

// since is what was written after the first so many bytes, as far as it was kept, and how
// much was written before it.
func (o *output) since(position int64) (text []byte, first int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := max(position, o.first)
	return bytes.Clone(o.kept[min(from-o.first, int64(len(o.kept))):]), from
}

// last are the last lines, at most so many.
func (o *output) last(count int) []string {
	text, _ := o.since(0)
	var lines []string
	for line := range bytes.Lines(text) {
		lines = append(lines, string(bytes.TrimRight(line, "\r\n")))
	}
	return lines[max(0, len(lines)-count):]
}

// news wakes everyone who waits for something new.
type news struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that is closed when there is something new.
func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// Output is a part of what a program wrote.
type Output struct {
	Program
	First int64 // how much it wrote before
	Text  []byte
}

// End is the position after it.
func (o Output) End() int64 { return o.First + int64(len(o.Text)) }

// Outputs returns what programs wrote, by their names; of those in after, what they wrote after
// that position. It reports whether that is anything.
func (in *Lab) Outputs(after map[string]int64) (all []Output, some bool) {
	for _, p := range in.all() {
		text, first := p.output.since(after[p.Name])
		some = some || len(text) > 0
		all = append(all, Output{p.status(), first, text})
	}
	return all, some
}

// News returns a channel that is closed when a program writes something new.
func (in *Lab) News() <-chan struct{} { return in.news.wait() }
