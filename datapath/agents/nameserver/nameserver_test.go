package nameserver

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/netlab/netlab/datapath/plan/zone"
)

// patience is long: nothing here waits for it, unless it fails.
const patience = 30 * time.Second

func serve(t *testing.T, records []zone.Record) (*Server, netip.AddrPort) {
	t.Helper()
	tcp, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	at := tcp.Addr().(*net.TCPAddr).AddrPort()
	udp, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at))
	if err != nil {
		tcp.Close()
		t.Skipf("the port is taken over UDP: %v", err)
	}
	s := Serve(udp, tcp)
	s.Change(records, nil)
	t.Cleanup(s.Close)
	return s, at
}

func dial(protocol string, to netip.AddrPort, within time.Duration) (net.Conn, error) {
	return net.DialTimeout(protocol, to.String(), within)
}

func TestAResolverFindsWhatAServerHas(t *testing.T) {
	many := []zone.Record{
		{Name: "web.svc", Type: zone.A, Value: "10.96.0.1"},
		{Name: "web.svc", Type: zone.AAAA, Value: "fd00::1"},
		{Name: "alias.svc", Type: zone.CNAME, Value: "web.svc"},
	}
	for i := range 200 { // more than fit into a datagram
		many = append(many, zone.Record{Name: "many.svc", Type: zone.A, Value: fmt.Sprintf("10.0.0.%d", i)})
	}
	s, at := serve(t, many)
	for _, row := range []struct {
		names string
		of    zone.Type
		want  string // an address, or the error
		count int
	}{
		{"web.default web.svc", zone.A, "10.96.0.1", 1},
		{"web.svc", zone.AAAA, "fd00::1", 1},
		{"alias.svc", zone.A, "10.96.0.1", 1},
		{"many.svc", zone.A, "10.0.0.7", 200},
		{"nobody.svc", zone.A, "NXDOMAIN", 0},
		{"many.svc", zone.AAAA, "no address", 0},
	} {
		addrs, err := Ask(dial, Question{Servers: []netip.AddrPort{at}, Names: strings.Fields(row.names), Type: row.of, Within: patience})
		if text := fmt.Sprint(addrs, err); len(addrs) != row.count || !strings.Contains(text, row.want) {
			t.Errorf("%s %s: %d addresses, %v; want %d, %s", row.names, row.of, len(addrs), err, row.count, row.want)
		}
	}
	s.Change([]zone.Record{{Name: "web.svc", Type: zone.A, Value: "10.96.0.2"}}, many[:1])
	addrs, err := Ask(dial, Question{Servers: []netip.AddrPort{at}, Names: []string{"web.svc"}, Type: zone.A, Within: patience})
	if fmt.Sprint(addrs) != "[10.96.0.2]" {
		t.Errorf("after a change: %v %v", addrs, err)
	}
}

// The next server is asked when the first does not answer, not when it has no such name.
func TestTheNextServerIsAskedWithoutAnAnswer(t *testing.T) {
	record := []zone.Record{{Name: "web.svc", Type: zone.A, Value: "10.96.0.1"}}
	_, empty := serve(t, nil)
	_, full := serve(t, record)
	gone, closed := serve(t, record)
	gone.Close()
	ask := func(servers ...netip.AddrPort) string {
		addrs, err := Ask(dial, Question{Servers: servers, Names: []string{"web.svc"}, Type: zone.A, Within: patience})
		return fmt.Sprint(addrs, err)
	}
	if got := ask(closed, full); got != "[10.96.0.1]<nil>" && got != "[10.96.0.1] <nil>" {
		t.Errorf("the first is gone: %s", got)
	}
	if got := ask(empty, full); !strings.Contains(got, "NXDOMAIN") {
		t.Errorf("the first has no such name: %s", got)
	}
	if got := ask(); !strings.Contains(got, "no name server") {
		t.Errorf("without servers: %s", got)
	}
}

// A zone has an SOA record and name servers, and what is not in it is denied in its name.
func TestAZoneSpeaksForItself(t *testing.T) {
	s, at := serve(t, []zone.Record{
		{Name: "cluster.local", Type: zone.SOA, Value: "ns.dns.cluster.local"},
		{Name: "cluster.local", Type: zone.NS, Value: "kube-dns.kube-system.svc.cluster.local"},
		{Name: "kube-dns.kube-system.svc.cluster.local", Type: zone.A, Value: "10.96.0.10"},
		{Name: "n1", Type: zone.A, Value: "192.0.2.1"},
	})
	s.mu.Lock()
	s.serial = 7
	s.mu.Unlock()
	const soa = "cluster.local. 30 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 7 7200 1800 86400 30"
	const root = ". 30 IN SOA ns.dns. hostmaster. 7 7200 1800 86400 30"
	for _, row := range []struct {
		name                      string
		of                        uint16
		answer, authority, beside string
		code                      int
	}{
		{"cluster.local.", dns.TypeSOA, soa, "", "", dns.RcodeSuccess},
		{"cluster.local.", dns.TypeNS, "cluster.local. 30 IN NS kube-dns.kube-system.svc.cluster.local.", "", "kube-dns.kube-system.svc.cluster.local. 30 IN A 10.96.0.10", dns.RcodeSuccess},
		{"cluster.local.", dns.TypeA, "", soa, "", dns.RcodeSuccess},
		{"svc.cluster.local.", dns.TypeSOA, "", soa, "", dns.RcodeSuccess},
		{"nobody.cluster.local.", dns.TypeA, "", soa, "", dns.RcodeNameError},
		{"n1.", dns.TypeAAAA, "", root, "", dns.RcodeSuccess},
		{"example.com.", dns.TypeA, "", root, "", dns.RcodeNameError},
	} {
		m, _, err := (&dns.Client{Timeout: patience}).Exchange(new(dns.Msg).SetQuestion(row.name, row.of), at.String())
		if err != nil {
			t.Fatal(err)
		}
		text := func(list []dns.RR) string {
			var out []string
			for _, rr := range list {
				out = append(out, strings.ReplaceAll(rr.String(), "\t", " "))
			}
			return strings.Join(out, "\n")
		}
		if text(m.Answer) != row.answer || text(m.Ns) != row.authority || text(m.Extra) != row.beside || m.Rcode != row.code {
			t.Errorf("%s %s:\n%s\nwant %s: %q, authority %q, additional %q", row.name, dns.TypeToString[row.of], m, dns.RcodeToString[row.code], row.answer, row.authority, row.beside)
		}
	}
}
