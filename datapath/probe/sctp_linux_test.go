package probe_test

import (
	"errors"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// The handshake of SCTP takes four messages, and the request can be sent only after it;
// on a link with a delay it is never done when connect returns.
func TestSCTP(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_SCTP)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		t.Skipf("this kernel lacks sctp: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)

	l := pair(t)
	l.listen("server", probe.Agent{Name: "web-0", Node: "node1", Listen: []probe.Socket{{Protocol: flow.SCTP, Port: 8080}}})
	flows := []flow.Flow{
		{From: "client", To: to("10.0.2.2:8080"), Protocol: flow.SCTP},
		{From: "client", To: to("10.0.2.2:81"), Protocol: flow.SCTP},
		{From: "client", To: to("10.0.9.1:8080"), Protocol: flow.SCTP, Within: 500 * time.Millisecond},
	}
	want := []flow.Outcome{flow.Connected, flow.Refused, flow.Timeout}
	for _, delay := range []time.Duration{0, 20 * time.Millisecond} {
		if delay > 0 {
			l.delay("client", delay)
		}
		for i, seen := range l.dial(flows...) {
			if seen.Outcome != want[i] {
				t.Errorf("delay %v, %v: %s (%s), want %s", delay, seen.Flow.To, seen.Outcome, seen.Err, want[i])
			}
			if seen.Outcome == flow.Connected && (seen.Answer != "web-0" || seen.Source != seen.Local) {
				t.Errorf("delay %v, %v: answer %q, source %v, local %v", delay, seen.Flow.To, seen.Answer, seen.Source, seen.Local)
			}
		}
	}
}

// delay makes what leaves a namespace through its eth0 wait.
func (l *lab) delay(name string, d time.Duration) {
	l.Helper()
	err := l.in(name, func(netns.Here) error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		of := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT}
		return netlink.QdiscAdd(netlink.NewNetem(of, netlink.NetemQdiscAttrs{Latency: uint32(d.Microseconds())}))
	})
	if err != nil {
		l.Fatal(err)
	}
}
