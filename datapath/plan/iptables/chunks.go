package iptables

import (
	"strings"

	"github.com/netlab/netlab/datapath/plan/ordered"
)

// Chunks is RestoreText split into several inputs, to be restored with --noflush one
// after the other, each taking at most about limit bytes of netlink messages. Without a
// limit (0) there is one. Joined into one input they do the same in one process: each
// COMMIT is a message of its own.
//
// iptables-nft sends a whole table as one message. To make room for it, it requests a
// larger send buffer with SO_SNDBUFFORCE, which the kernel grants only to the host's
// root: inside a user namespace a table of more than net.core.wmem_default bytes
// (212,992 as a rule, some 300 rules) fails with "Message too long".
//
// Tables that are split are not replaced in one step. So that nothing incomplete is in
// use, a chain comes after those that it jumps to, built-in chains come last, and
// chains are deleted at the end. A chain that is itself longer than a chunk is
// incomplete for a moment.
func Chunks(edits []Edit, ipv6 bool, limit int) []string {
	if limit <= 0 {
		if text := RestoreText(edits, ipv6); text != "" {
			return []string{text}
		}
		return nil
	}
	w := &chunkWriter{limit: limit}
	for i := range edits {
		if edits[i].IPv6 == ipv6 {
			w.edit(&edits[i])
		}
	}
	w.cut()
	return w.chunks
}

// UserBuffer is the limit for Chunks inside a user namespace of a machine with the
// usual net.core.wmem_default, less the socket's own overhead.
const UserBuffer = 200_000

// chunkWriter fills one chunk of one table at a time.
type chunkWriter struct {
	limit  int
	chunks []string
	table  string
	size   int    // of the resulting messages, roughly
	head   []byte // declarations
	body   []byte
	whole  []byte // tables of this chunk that are complete
}

func (w *chunkWriter) edit(e *Edit) {
	w.table = e.Name
	for _, c := range targetsFirst(e.Set) {
		w.room(chainBytes)
		w.head = appendDeclaration(w.head, c.Name, c.Policy)
		if c.Policy != "" {
			w.room(chainBytes)
			w.body = append(append(append(w.body, "-F "...), c.Name...), '\n')
		}
		for i := range c.Rules {
			w.room(c.Rules[i].messageBytes())
			w.body = append(c.Rules[i].appendRestore(w.body, c.Name), '\n')
		}
	}
	// All are emptied before the first is deleted: they may jump to each other.
	for _, name := range e.Delete {
		w.room(chainBytes)
		w.head = appendDeclaration(w.head, name, "")
	}
	for _, name := range e.Delete {
		w.room(chainBytes)
		w.body = append(append(append(w.body, "-X "...), name...), '\n')
	}
	w.finish()
}

// room makes sure that the chunk has room for that many more bytes.
func (w *chunkWriter) room(bytes int) {
	if w.size > 0 && w.size+bytes > w.limit {
		w.finish()
		w.cut()
	}
	w.size += bytes
}

// finish ends the table in this chunk. Every table is a message of its own.
func (w *chunkWriter) finish() {
	if len(w.head)+len(w.body) > 0 {
		w.whole = append(append(append(w.whole, '*'), w.table...), '\n')
		w.whole = append(append(append(w.whole, w.head...), w.body...), "COMMIT\n"...)
	}
	w.head, w.body, w.size = w.head[:0], w.body[:0], 0
}

// cut ends the chunk.
func (w *chunkWriter) cut() {
	if len(w.whole) > 0 {
		w.chunks = append(w.chunks, string(w.whole))
	}
	w.whole = w.whole[:0]
}

// Bytes of netlink messages, as strace shows them for iptables 1.8.9, rounded up.
const (
	chainBytes   = 200 // a declaration, a flush or a deletion
	ruleBytes    = 260 // without matches
	commentBytes = 310 // the kernel's struct has 256 for the text
	matchBytes   = 150 // on average; ctstate has 216, a port 40
)

// messageBytes is the approximate length of the rule's netlink message.
func (r *Rule) messageBytes() int {
	size := ruleBytes + matchBytes*len(r.Matches)
	for _, m := range r.Matches {
		if _, ok := m.(Comment); ok {
			size += commentBytes - matchBytes
		}
	}
	if r.Raw != "" {
		size += commentBytes + matchBytes*strings.Count(r.Raw, " -")
	}
	return size
}

// targetsFirst returns the chains in an order in which each comes after those that
// it jumps to.
func targetsFirst(chains []Chain) []*Chain {
	index := ordered.Index(chains, chainName)
	out := make([]*Chain, 0, len(chains))
	seen := make(map[*Chain]bool, len(chains))
	var visit func(c *Chain)
	visit = func(c *Chain) {
		if c == nil || seen[c] {
			return
		}
		seen[c] = true
		for i := range c.Rules {
			visit(index[c.Rules[i].jumpsTo()])
		}
		out = append(out, c)
	}
	for i := range chains {
		if chains[i].Policy == "" {
			visit(&chains[i])
		}
	}
	for i := range chains {
		visit(&chains[i])
	}
	return out
}

// jumpsTo is the name of the target, chain or not.
func (r *Rule) jumpsTo() string {
	switch t := r.Target.(type) {
	case Jump:
		return t.Chain
	case Goto:
		return t.Chain
	}
	for _, flag := range []string{"-j ", "-g "} {
		if i := strings.LastIndex(r.Raw, flag); i >= 0 {
			name, _, _ := strings.Cut(r.Raw[i+len(flag):], " ")
			return name
		}
	}
	return ""
}
