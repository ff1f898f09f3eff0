package probe_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/netns"
	"github.com/netlab/netlab/datapath/probe"
)

// upload sends half a second's worth of a line of 8 Mbit/s.
func upload(l *lab) flow.Observation {
	return l.dial(flow.Flow{From: "client", To: netip.MustParseAddrPort("10.0.2.2:8080"), Upload: 512 << 10, Within: 20 * time.Second})[0]
}

func TestUploadsMeasureTheRateOfALink(t *testing.T) {
	l := pair(t)
	l.listen("server", probe.Agent{Name: "web-0", Listen: []probe.Socket{{Protocol: flow.TCP, Port: 8080}}})
	free := upload(l)
	if free.Outcome != flow.Connected || free.Answer != "web-0" || free.Rate == 0 {
		t.Fatalf("free link: %+v", free)
	}
	const rate = 8_000_000
	err := l.in("client", func(netns.Here) error {
		out, err := exec.Command("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", fmt.Sprint(rate), "burst", "16k", "latency", "200ms").CombinedOutput()
		if err != nil {
			return fmt.Errorf("tc: %w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The agent greets a client that sends nothing for a moment, but not an upload
	// before its end. The bucket passes 16 kB of 512 immediately; the rest is limited.
	slow := upload(l)
	if slow.Outcome != flow.Connected || slow.Rate > rate*105/100 {
		t.Errorf("at %d bit/s: %+v", rate, slow)
	}
	if slow.Rate >= free.Rate {
		t.Errorf("the narrow link carried %d bit/s, the free one %d", slow.Rate, free.Rate)
	}
}

func TestUploadsNeedAStreamAndHaveAnySize(t *testing.T) {
	l := pair(t)
	l.listen("server", probe.Agent{Name: "web-0", Listen: []probe.Socket{{Protocol: flow.TCP, Port: 8080}}})
	small := l.dial(flow.Flow{From: "client", To: netip.MustParseAddrPort("10.0.2.2:8080"), Upload: 1})[0]
	if small.Outcome != flow.Connected || small.Answer != "web-0" {
		t.Errorf("an upload of one byte: %+v", small)
	}
	udp := l.dial(flow.Flow{From: "client", To: netip.MustParseAddrPort("10.0.2.2:8080"), Protocol: flow.UDP, Upload: 100})[0]
	if udp.Outcome != flow.Failed {
		t.Errorf("an upload over UDP: %+v", udp)
	}
}

func TestConnectionsReportTheirRoundTrip(t *testing.T) {
	l := pair(t)
	l.listen("server", probe.Agent{Name: "web-0", Listen: []probe.Socket{{Protocol: flow.TCP, Port: 8080}, {Protocol: flow.UDP, Port: 8080}}})
	for _, p := range []flow.Protocol{flow.TCP, flow.UDP} {
		s := l.dial(flow.Flow{From: "client", To: netip.MustParseAddrPort("10.0.2.2:8080"), Protocol: p})[0]
		if s.Outcome != flow.Connected || s.RoundTrip <= 0 || s.RoundTrip > s.Took {
			t.Errorf("%s: a round trip of %v in %v", p, s.RoundTrip, s.Took)
		}
	}
}
