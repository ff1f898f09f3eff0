package ipvs

import "github.com/netlab/netlab/datapath/plan/coder"

// Code writes or reads a virtual server.
func Code(c *coder.Coder, v *Server) {
	c.Origin(&v.Origin)
	c.AddrPort(&v.Addr)
	coder.String(c, &v.Proto)
	coder.String(c, &v.Scheduler)
	coder.Strings(c, &v.Flags)
	coder.Int(c, &v.Persistent)
	coder.List(c, &v.Real, codeReal)
}

func codeReal(c *coder.Coder, r *Real) {
	c.Origin(&r.Origin)
	c.AddrPort(&r.Addr)
	coder.Int(c, &r.Weight)
}
