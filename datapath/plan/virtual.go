package plan

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// VirtualServer is a service of IPVS: what arrives at an address and port goes to
// one of the real servers (ipvsadm(8)).
type VirtualServer struct {
	Addr      netip.AddrPort
	Proto     string   // tcp, udp or sctp
	Scheduler string   // rr, wrr, lc, wlc, sh, dh, sed, nq, mh, …
	Flags     []string // of the scheduler, in ipvsadm's words, sorted: mh-port
	// Persistent binds a client to its real server for so many seconds; 0: it does not.
	Persistent int
	Real       []RealServer // by address and port
	Origin     Origin
}

// RealServer is a destination of a virtual server, reached by rewriting addresses
// (masquerading, in the words of ipvsadm). One of weight 0 gets no new connections.
// A TCP destination that leaves the plan stays with weight 0 until its last
// connection is over.
type RealServer struct {
	Addr   netip.AddrPort
	Weight int
	Origin Origin
}

// Words is the virtual server as ipvsadm -Sn prints it after -A: -t 10.96.0.1:80 -s rr.
func (v *VirtualServer) Words() string { return string(v.appendWords(nil)) }

func (v *VirtualServer) appendWords(b []byte) []byte {
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
func (v *VirtualServer) Service() string { return string(v.appendService(nil)) }

func (v *VirtualServer) appendService(b []byte) []byte {
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

// appendReal appends the line of ipvsadm that treats a real server: verb is -a to
// add, -e to edit.
func (v *VirtualServer) appendReal(b []byte, verb string, r *RealServer) []byte {
	b = append(v.appendService(append(append(b, verb...), ' ')), " -r "...)
	b = append(r.Addr.AppendTo(b), " -m -w "...)
	return append(strconv.AppendInt(b, int64(r.Weight), 10), '\n')
}

// appendAll appends the lines that make the virtual server with its real servers.
func (v *VirtualServer) appendAll(b []byte) []byte {
	b = append(v.appendWords(append(b, "-A "...)), '\n')
	for i := range v.Real {
		b = v.appendReal(b, "-a", &v.Real[i])
	}
	return b
}

// VirtualEdit is what changes of a virtual server that stays.
type VirtualEdit struct {
	Server VirtualServer // as it shall be, without its real servers
	// Renew says that the scheduler, its flags or the persistence differ.
	Renew               bool
	Add, Change, Delete []RealServer
}

// appendRestore appends the edit as ipvsadm -R reads it.
func (e *VirtualEdit) appendRestore(b []byte) []byte {
	v := &e.Server
	if e.Renew {
		b = append(v.appendWords(append(b, "-E "...)), '\n')
	}
	for i := range e.Add {
		b = v.appendReal(b, "-a", &e.Add[i])
	}
	for i := range e.Change {
		b = v.appendReal(b, "-e", &e.Change[i])
	}
	for i := range e.Delete {
		b = append(v.appendService(append(b, "-d "...)), " -r "...)
		b = append(e.Delete[i].Addr.AppendTo(b), '\n')
	}
	return b
}

func compareVirtual(a, b *VirtualServer) int {
	if c := a.Addr.Compare(b.Addr); c != 0 {
		return c
	}
	return cmp.Compare(a.Proto, b.Proto)
}

// Sort brings the flags and real servers into canonical order.
func (v *VirtualServer) Sort() {
	slices.Sort(v.Flags)
	slices.SortStableFunc(v.Real, func(a, b RealServer) int { return a.Addr.Compare(b.Addr) })
}

// same compares all but the real servers.
func (v *VirtualServer) same(w *VirtualServer) bool {
	return v.Scheduler == w.Scheduler && v.Persistent == w.Persistent && slices.Equal(v.Flags, w.Flags)
}

// diffVirtual fills in what leads from some virtual servers to others, both in
// canonical order.
func diffVirtual(have, want []VirtualServer, e *Edit) {
	for len(have) > 0 || len(want) > 0 {
		c := 0
		switch {
		case len(want) == 0:
			c = -1
		case len(have) == 0:
			c = 1
		default:
			c = compareVirtual(&have[0], &want[0])
		}
		switch {
		case c < 0:
			e.Delete.Virtual = append(e.Delete.Virtual, have[0])
			have = have[1:]
		case c > 0:
			e.Add.Virtual = append(e.Add.Virtual, want[0])
			want = want[1:]
		default:
			if x, changed := diffReal(&have[0], &want[0]); changed {
				e.Virtual = append(e.Virtual, x)
			}
			have, want = have[1:], want[1:]
		}
	}
}

func diffReal(have, want *VirtualServer) (e VirtualEdit, changed bool) {
	e.Renew = !have.same(want)
	hs, ws := have.Real, want.Real
	for len(hs) > 0 || len(ws) > 0 {
		switch {
		case len(ws) == 0 || len(hs) > 0 && hs[0].Addr.Compare(ws[0].Addr) < 0:
			e.Delete = append(e.Delete, hs[0])
			hs = hs[1:]
		case len(hs) == 0 || hs[0].Addr.Compare(ws[0].Addr) > 0:
			e.Add = append(e.Add, ws[0])
			ws = ws[1:]
		default:
			if hs[0].Weight != ws[0].Weight {
				e.Change = append(e.Change, ws[0])
			}
			hs, ws = hs[1:], ws[1:]
		}
	}
	if !e.Renew && len(e.Add)+len(e.Change)+len(e.Delete) == 0 {
		return e, false
	}
	e.Server = *want
	e.Server.Real = nil
	return e, true
}
