package nameserver

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/netlab/netlab/datapath/plan/zone"
)

// Server is a running name server.
type Server struct {
	mu     sync.RWMutex
	index  zone.Index
	serial uint32 // of all zones: the time of the last change, in seconds since 1970, as CoreDNS has it

	udp, tcp *dns.Server
	accepted *listener
	ended    sync.WaitGroup
}

// Serve starts a server without records on two sockets, which it closes. The caller must
// Close it.
func Serve(udp net.PacketConn, tcp net.Listener) *Server {
	s := &Server{accepted: &listener{Listener: tcp, open: map[net.Conn]bool{}}}
	handler := dns.HandlerFunc(s.answer)
	started := sync.WaitGroup{}
	started.Add(2)
	s.udp = &dns.Server{PacketConn: udp, Handler: handler, NotifyStartedFunc: started.Done}
	s.tcp = &dns.Server{Listener: s.accepted, Handler: handler, NotifyStartedFunc: started.Done}
	for _, x := range []*dns.Server{s.udp, s.tcp} {
		s.ended.Go(func() { _ = x.ActivateAndServe() })
	}
	started.Wait()
	return s
}

// Change removes records, then adds others. Queries see all of the change or nothing.
func (s *Server) Change(add, remove []zone.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.Remove(remove)
	s.index.Add(add)
	s.serial = uint32(time.Now().Unix())
}

// Close closes the sockets and resets connections: one in FIN_WAIT would keep its network
// namespace alive.
func (s *Server) Close() {
	s.accepted.reset()
	gone, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.udp.ShutdownContext(gone)
	_ = s.tcp.ShutdownContext(gone)
	s.udp.PacketConn.Close()
	s.ended.Wait()
}

// listener knows the connections that it has accepted and that are open.
type listener struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]bool
}

type accepted struct {
	net.Conn
	from *listener
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = true
	return accepted{c, l}, nil
}

func (c accepted) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c.Conn)
	c.from.mu.Unlock()
	return c.Conn.Close()
}

func (l *listener) reset() {
	l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		c.Close()
	}
}

// answer answers one query. A name without records of the type gets the SOA record of its zone, as
// negative answers have it (RFC 2308); one in no zone that of the root.
func (s *Server) answer(w dns.ResponseWriter, q *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(q)
	m.Authoritative = true
	size := dns.MinMsgSize
	if o := q.IsEdns0(); o != nil {
		size = max(size, int(o.UDPSize()))
		m.SetEdns0(uint16(largest), false)
	}
	switch {
	case q.Opcode != dns.OpcodeQuery:
		m.Rcode = dns.RcodeNotImplemented
	case len(q.Question) != 1:
		m.Rcode = dns.RcodeFormatError
	case q.Question[0].Qclass != dns.ClassINET:
		m.Rcode = dns.RcodeRefused
	default:
		s.fill(m, q.Question[0])
	}
	if _, stream := w.RemoteAddr().(*net.TCPAddr); stream {
		size = dns.MaxMsgSize
	}
	m.Truncate(size)
	_ = w.WriteMsg(m)
}

// largest is how long a message over UDP may be that is not to be fragmented
// (dnsflagday.net/2020).
const largest = 1232

func (s *Server) fill(m *dns.Msg, q dns.Question) {
	s.mu.RLock()
	a := s.index.Answer(q.Name, zone.Type(dns.TypeToString[q.Qtype]))
	serial := s.serial
	s.mu.RUnlock()
	for i, r := range a.Records {
		rr := message(r, serial)
		if i == 0 {
			rr.Header().Name = q.Name // in the case of the question: some resolvers compare it (0x20)
		}
		if !slices.ContainsFunc(m.Answer, func(o dns.RR) bool { return dns.IsDuplicate(o, rr) }) {
			m.Answer = append(m.Answer, rr)
		}
	}
	for _, r := range a.More {
		m.Extra = append([]dns.RR{message(r, serial)}, m.Extra...)
	}
	if a.Missing {
		m.Rcode = dns.RcodeNameError
	}
	if len(m.Answer) == 0 {
		of := &zone.Record{Type: zone.SOA, Value: "ns.dns"}
		if a.Zone != nil {
			of = a.Zone
		}
		m.Ns = append(m.Ns, message(*of, serial))
	}
}

func header(name string, of uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: of, Class: dns.ClassINET, Ttl: zone.TTL}
}

// message is a record as messages have it, of a zone with a serial number.
func message(r zone.Record, serial uint32) dns.RR {
	h := header(dns.Fqdn(r.Name), dns.StringToType[string(r.Type)])
	switch r.Type {
	case zone.A:
		return &dns.A{Hdr: h, A: net.ParseIP(r.Value)}
	case zone.AAAA:
		return &dns.AAAA{Hdr: h, AAAA: net.ParseIP(r.Value)}
	case zone.CNAME:
		return &dns.CNAME{Hdr: h, Target: dns.Fqdn(r.Value)}
	case zone.NS:
		return &dns.NS{Hdr: h, Ns: dns.Fqdn(r.Value)}
	case zone.PTR:
		return &dns.PTR{Hdr: h, Ptr: dns.Fqdn(r.Value)}
	case zone.SOA:
		return &dns.SOA{Hdr: h, Ns: dns.Fqdn(r.Value), Mbox: dns.Fqdn(r.Mailbox()), Serial: serial, Refresh: zone.Refresh, Retry: zone.Retry, Expire: zone.Expire, Minttl: zone.TTL}
	case zone.SRV:
		return &dns.SRV{Hdr: h, Weight: r.Weight, Port: r.Port, Target: dns.Fqdn(r.Value)}
	default:
		return &dns.TXT{Hdr: h, Txt: strings.Split(r.Value, "\n")}
	}
}
