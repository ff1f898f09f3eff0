package nameserver

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/netlab/netlab/datapath/plan/zone"
)

// Dial connects to a name server, over udp or tcp.
type Dial func(protocol string, to netip.AddrPort, within time.Duration) (net.Conn, error)

// Question is what a resolver wants to know: the addresses of the first of some names that has
// any.
type Question struct {
	Servers []netip.AddrPort // in the order in which they are asked
	Names   []string
	Type    zone.Type
	Within  time.Duration // for the answer to one query
}

// Ask asks as the resolver of a host does (res_search(3)): one server for all names in turn,
// from one socket, and the next one only when there is no answer. It asks each only once.
// The error says why there is no address: that no name has one, or that no server answers.
func Ask(dial Dial, q Question) ([]netip.Addr, error) {
	err := errors.New("the pod has no name server")
	for _, server := range q.Servers {
		addrs, ended, e := ask(dial, server, q)
		if e == nil || ended {
			return addrs, e
		}
		err = e
	}
	return nil, err
}

// ask asks one server; ended says that there was an answer.
func ask(dial Dial, server netip.AddrPort, q Question) (addrs []netip.Addr, ended bool, err error) {
	conn, err := dial("udp", server, q.Within)
	if err != nil {
		return nil, false, fmt.Errorf("no answer from %s: %w", server, plain(err))
	}
	defer conn.Close()
	last := ""
	for _, name := range q.Names {
		m := new(dns.Msg)
		m.SetQuestion(dns.Fqdn(name), dns.StringToType[string(q.Type)])
		m.SetEdns0(largest, false)
		reply, err := exchange(conn, m, q.Within, largest)
		if err == nil && reply.Truncated {
			reply, err = overTCP(dial, server, m, q.Within)
		}
		if err != nil {
			return nil, false, fmt.Errorf("no answer from %s: %w", server, plain(err))
		}
		if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
			return nil, false, fmt.Errorf("%s answers %s", server, dns.RcodeToString[reply.Rcode])
		}
		if addrs := addresses(reply); len(addrs) > 0 {
			return addrs, true, nil
		}
		if last = dns.RcodeToString[reply.Rcode]; reply.Rcode == dns.RcodeSuccess {
			last = "no address" // the name exists
		}
	}
	return nil, true, fmt.Errorf("%s from %s", last, server)
}

func exchange(conn net.Conn, m *dns.Msg, within time.Duration, size uint16) (*dns.Msg, error) {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	c := &dns.Conn{Conn: conn, UDPSize: size}
	if err := c.WriteMsg(m); err != nil {
		return nil, err
	}
	for {
		reply, err := c.ReadMsg()
		if err != nil {
			return nil, err
		}
		if reply.Id == m.Id {
			return reply, nil
		}
	}
}

func overTCP(dial Dial, server netip.AddrPort, m *dns.Msg, within time.Duration) (*dns.Msg, error) {
	conn, err := dial("tcp", server, within)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	return exchange(conn, m, within, 0)
}

// addresses are those in an answer.
func addresses(m *dns.Msg) (list []netip.Addr) {
	for _, rr := range m.Answer {
		var ip net.IP
		switch r := rr.(type) {
		case *dns.A:
			ip = r.A
		case *dns.AAAA:
			ip = r.AAAA
		}
		if a, ok := netip.AddrFromSlice(ip); ok {
			if len(ip.To4()) == net.IPv4len {
				a = a.Unmap()
			}
			list = append(list, a)
		}
	}
	return list
}

// plain is the cause of a network error, without addresses.
func plain(err error) error {
	var e net.Error
	if errors.As(err, &e) && e.Timeout() {
		return errors.New("timeout")
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
