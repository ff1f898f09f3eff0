package walk_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath"
	"github.com/netlab/netlab/datapath/engine"
	"github.com/netlab/netlab/datapath/flow"
	"github.com/netlab/netlab/datapath/plan"
	"github.com/netlab/netlab/datapath/walk"
	"github.com/netlab/netlab/datapath/walk/trace"
	"github.com/netlab/netlab/topology"
)

// onEveryNetwork runs a test on every pod network in which all pods reach each other.
func onEveryNetwork(t *testing.T, test func(t *testing.T, mode string)) {
	for _, m := range datapath.Catalogue().Networks {
		if m.Routed {
			t.Run(m.Name, func(t *testing.T) {
				t.Parallel()
				test(t, m.Name)
			})
		}
	}
}

// withoutNode is a lab without its third node.
func withoutNode(s topology.Spec) topology.Spec {
	s.Nodes = s.Nodes[:2]
	s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p topology.PodSpec) bool { return p.Node.Value == "node3" })
	return s
}

// A node that goes leaves nothing behind on the others, and one that comes back is reached.
func TestKernelKnowsWhichNodesThereAre(t *testing.T) {
	onEveryNetwork(t, func(t *testing.T, mode string) {
		with, without := build(t, threeNodes(mode)), build(t, withoutNode(threeNodes(mode)))
		running := start(t, with.plan)
		reached := func() {
			t.Helper()
			connects(t, running, with, with.flow(t, "shell-1", "shell-3:8080"), with.flow(t, "shell-3", "a-0:8080"))
		}
		reached()
		there := with.netns(t, "node.node3").Addrs[0].Prefix.Addr().String()
		if _, err := running.Apply(t.Context(), without.plan, engine.Meta{}, false); err != nil {
			t.Fatal(err)
		}
		have, want, err := running.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := plan.Diff(want, have); !d.Empty() {
			t.Errorf("without node3, the kernel differs from the plan:\n%+v", d)
		}
		if text := string(have.Text()); strings.Contains(text, there) || !strings.Contains(text, "node.node1") {
			t.Errorf("the other nodes still know %s", there)
		}
		if _, err := running.Apply(t.Context(), with.plan, engine.Meta{}, false); err != nil {
			t.Fatal(err)
		}
		reached()
	})
}

// connects fails unless each flow connects, as predicted, within a second.
func connects(t *testing.T, running *engine.Client, l lab, flows ...flow.Flow) {
	t.Helper()
	world := walk.New(l.plan)
	for i := range flows {
		flows[i].Within = flow.Stretched(time.Second, flow.TimeScale())
	}
	for f, seen := range observe(t, running, flows) {
		if text := disagreement(world.Walk(f), seen); text != "" || seen[0].Outcome != flow.Connected {
			t.Errorf("%s: %s", seen[0].Outcome, text)
		}
	}
}

// What leaves a node for another is what the walker says, and nothing else.
func TestKernelSendsWhatThePlanSays(t *testing.T) {
	onEveryNetwork(t, func(t *testing.T, mode string) {
		l := build(t, threeNodes(mode))
		f := l.flow(t, "shell-1", "shell-3:8080")
		f.Upload, f.Within = 10_000, 5*time.Second
		var want []string
		for _, b := range walk.New(l.plan).Walk(f).Branches {
			for _, s := range b.Steps {
				if s.Netns == "underlay" && s.Kind == trace.Hop && !slices.Contains(want, outer(s.Packet)) {
					want = append(want, outer(s.Packet))
				}
			}
		}
		running := start(t, l.plan)
		lines := capture(t, running, "node.node1")
		if seen := observe(t, running, []flow.Flow{f})[f][0]; seen.Outcome != flow.Connected {
			t.Fatal(seen.Outcome, seen.Err)
		}
		var got []string
		for line := range lines {
			if !slices.Contains(got, line) {
				got = append(got, line)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("on the uplink %q, on paper %q", got, want)
		}
	})
}

// outer is a packet as captured names it: the port that tells tunnels apart, where it has one.
func outer(p trace.Packet) string {
	if p.Protocol == "udp" {
		return fmt.Sprint("udp ", p.Dst.Port())
	}
	return p.Protocol
}

// capture runs this program in a namespace and returns what its uplink sends, until it has
// been idle for a second.
func capture(t *testing.T, running *engine.Client, netns string) <-chan string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer w.Close()
		_, _ = running.Exec(t.Context(), engine.Command{Netns: netns, Argv: []string{self}, Env: []string{capturing + "=1"}, Stdout: w, Stderr: os.Stderr})
	}()
	scanner := bufio.NewScanner(r)
	if !scanner.Scan() || scanner.Text() != "ready" {
		t.Fatalf("nothing is captured: %q", scanner.Text())
	}
	lines := make(chan string)
	go func() {
		defer r.Close()
		defer close(lines)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// capturing is the variable that makes this program print what eth0 sends, IPv4 only.
const capturing = "NETLAB_TEST_CAPTURE"

func printCaptured() error {
	protocol := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, int(protocol))
	if err != nil {
		return err
	}
	ifr, err := unix.NewIfreq("eth0")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifr); err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: int(ifr.Uint32())}); err != nil {
		return err
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		return err
	}
	fmt.Println("ready")
	for b := make([]byte, 65536); ; {
		n, from, err := unix.Recvfrom(fd, b, 0)
		if errors.Is(err, unix.EINTR) {
			continue // a wait with a timeout is not restarted after a signal (signal(7))
		}
		if err != nil {
			return nil // idle
		}
		if at := from.(*unix.SockaddrLinklayer); at.Pkttype != unix.PACKET_OUTGOING || n < 24 || b[0]>>4 != 4 {
			continue
		}
		switch b[9] {
		case unix.IPPROTO_UDP:
			fmt.Println("udp", binary.BigEndian.Uint16(b[int(b[0]&15)*4+2:]))
		case unix.IPPROTO_TCP:
			fmt.Println("tcp")
		case unix.IPPROTO_IPIP:
			fmt.Println("ipip")
		case unix.IPPROTO_ESP:
			fmt.Println("esp")
		default:
			fmt.Println("protocol", b[9])
		}
	}
}
