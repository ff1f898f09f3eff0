package ipvs

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netlab/netlab/datapath/plan/ordered"
	"github.com/netlab/netlab/datapath/plan/origin"
)

// Server is an IPVS virtual server: packets to an address and port go to one of its
// real servers (ipvsadm(8)).
type Server struct {
	Addr      netip.AddrPort `json:"address"`
	Proto     string         `json:"protocol"`        // tcp, udp or sctp
	Scheduler string         `json:"scheduler"`       // rr, wrr, lc, wlc, sh, dh, sed, nq, mh, …
	Flags     []string       `json:"flags,omitempty"` // of the scheduler, as ipvsadm names them, sorted: mh-port
	// Persistent binds a client to its real server for that many seconds; 0: not at
	// all.
	Persistent int        `json:"persistentSeconds,omitempty"`
	Real       []Real     `json:"realServers"` // by address and port
	Origin     origin.Ref `json:"origin,omitzero"`
}

// Real is a destination of a virtual server, reached by rewriting addresses
// (masquerading, in ipvsadm's terms). One of weight 0 gets no new connections. A TCP
// destination that leaves the plan stays with weight 0 until its last connection ends.
type Real struct {
	Addr   netip.AddrPort `json:"address"`
	Weight int            `json:"weight"`
	Origin origin.Ref     `json:"origin,omitzero"`
}

// MarshalJSON lists the real servers, even if there is none.
func (v Server) MarshalJSON() ([]byte, error) {
	type bare Server
	v.Real = append([]Real{}, v.Real...)
	return json.Marshal(bare(v))
}

// Words returns the virtual server as ipvsadm -Sn prints it after -A: -t 10.96.0.1:80
// -s rr.
func (v *Server) Words() string { return string(v.appendWords(nil)) }

func (v *Server) appendWords(b []byte) []byte {
	b = append(append(v.appendService(b), " -s "...), v.Scheduler...)
	if v.Persistent > 0 {
		b = strconv.AppendInt(append(b, " -p "...), int64(v.Persistent), 10)
	}
	if len(v.Flags) > 0 {
		b = append(append(b, " -b "...), strings.Join(v.Flags, ",")...)
	}
	return b
}

// Service is how ipvsadm names the virtual server: -t 10.96.0.1:80.
func (v *Server) Service() string { return string(v.appendService(nil)) }

func (v *Server) appendService(b []byte) []byte {
	switch v.Proto {
	case "udp":
		b = append(b, "-u "...)
	case "sctp":
		b = append(b, "--sctp-service "...)
	default:
		b = append(b, "-t "...)
	}
	return v.Addr.AppendTo(b)
}

// Command is one line of ipvsadm -R: -A, -E and -D create, change and delete a virtual
// server, -a, -e and -d one of its real servers.
type Command struct {
	Verb   string
	Server *Server
	Real   *Real // of -a, -e and -d
}

// Append appends the line without its end.
func (c *Command) Append(b []byte) []byte {
	b = append(append(b, c.Verb...), ' ')
	switch c.Verb {
	case "-A", "-E":
		return c.Server.appendWords(b)
	case "-D":
		return c.Server.appendService(b)
	}
	b = c.Real.Addr.AppendTo(append(c.Server.appendService(b), " -r "...))
	if c.Verb == "-d" {
		return b
	}
	return strconv.AppendInt(append(b, " -m -w "...), int64(c.Real.Weight), 10)
}

// String is the command line.
func (c Command) String() string { return "ipvsadm " + string(c.Append(nil)) }

// Create appends the commands that make virtual servers with their real servers.
func Create(list []Command, servers []Server) []Command {
	for i := range servers {
		v := &servers[i]
		list = appendReal(append(list, Command{"-A", v, nil}), "-a", v, v.Real)
	}
	return list
}

func appendReal(list []Command, verb string, v *Server, reals []Real) []Command {
	for i := range reals {
		list = append(list, Command{verb, v, &reals[i]})
	}
	return list
}

// Edit lists what changes in a virtual server that stays.
type Edit struct {
	Server Server // as wanted, without its real servers
	// Renew says that the scheduler, its flags or the persistence differ.
	Renew               bool
	Add, Change, Delete []Real
}

// Commands appends the commands of the edit.
func (e *Edit) Commands(list []Command) []Command {
	v := &e.Server
	if e.Renew {
		list = append(list, Command{"-E", v, nil})
	}
	list = appendReal(list, "-a", v, e.Add)
	list = appendReal(list, "-e", v, e.Change)
	return appendReal(list, "-d", v, e.Delete)
}

func compareVirtual(a, b Server) int {
	return cmp.Or(a.Addr.Compare(b.Addr), cmp.Compare(a.Proto, b.Proto))
}

func compareReal(a, b Real) int { return a.Addr.Compare(b.Addr) }

// Sort brings virtual servers into canonical order.
func Sort(list []Server) {
	for i := range list {
		list[i].Sort()
	}
	ordered.Sort(list, compareVirtual)
}

// Sort brings the flags and real servers into canonical order.
func (v *Server) Sort() {
	slices.Sort(v.Flags)
	slices.SortStableFunc(v.Real, compareReal)
}

// same compares all but the real servers.
func (v *Server) same(w *Server) bool {
	return v.Scheduler == w.Scheduler && v.Persistent == w.Persistent && slices.Equal(v.Flags, w.Flags)
}

// Difference is the difference between two lists of virtual servers.
type Difference struct {
	Add, Delete []Server
	Edits       []Edit
}

// Diff compares virtual servers in canonical order.
func Diff(have, want []Server) (e Difference) {
	for h, w := range ordered.Pairs(have, want, compareVirtual) {
		switch {
		case w == nil:
			e.Delete = append(e.Delete, *h)
		case h == nil:
			e.Add = append(e.Add, *w)
		default:
			if x, changed := diffReal(h, w); changed {
				e.Edits = append(e.Edits, x)
			}
		}
	}
	return e
}

func diffReal(have, want *Server) (e Edit, changed bool) {
	e.Renew = !have.same(want)
	for h, w := range ordered.Pairs(have.Real, want.Real, compareReal) {
		switch {
		case w == nil:
			e.Delete = append(e.Delete, *h)
		case h == nil:
			e.Add = append(e.Add, *w)
		case h.Weight != w.Weight:
			e.Change = append(e.Change, *w)
		}
	}
	if !e.Renew && len(e.Add)+len(e.Change)+len(e.Delete) == 0 {
		return e, false
	}
	e.Server = *want
	e.Server.Real = nil
	return e, true
}
