package ipset

import "github.com/netlab/netlab/datapath/plan/coder"

// Code writes or reads a set.
func Code(c *coder.Coder, s *Set) {
	c.Origin(&s.Origin)
	coder.String(c, &s.Name)
	coder.String(c, &s.Type)
	c.Bool(&s.IPv6)
	coder.List(c, &s.Entries, codeEntry)
}

func codeEntry(c *coder.Coder, e *Entry) {
	c.Prefix(&e.Prefix)
	coder.String(c, &e.Proto)
	coder.Int(c, &e.Port)
	c.Prefix(&e.Second)
}
