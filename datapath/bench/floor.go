//go:build linux

package bench

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Shape is the size of a lab.
type Shape struct {
	Nodes   int
	Clients int
	Pods    int // spread evenly over the nodes
	// Services and Endpoints: every service has that many endpoints, all of them pods.
	Services, Endpoints int
}

// floor creates the kernel objects of a vxlan lab of a shape, as netlab does, and holds
// them by descriptor.
type floor struct {
	order
	proc     int
	nodes    []*space
	underlay *space
	others   []int // namespaces of pods and clients
	bare     int   // links of the underlay without nodes
}

// space is a namespace that links are added to later.
type space struct {
	fd int
	nl *nl
}

const underlayMTU, podMTU = 1500, 1450

// uplink is the index of the first link of a namespace, as in netlab: indexes chosen by
// the kernel begin at 2.
const uplink = 100

// build is the bare loop. The calling goroutine must be locked to its thread.
func (f *floor) build() error {
	f.proc = -1
	var err error
	if f.underlay, err = f.enter(nil); err != nil {
		return err
	}
	f.underlay.nl.up(1)
	f.underlay.nl.bridge("br0", uplink, underlayMTU, mac(1, 0, 0))
	f.underlay.nl.addr(uplink, [4]byte{192, 168, 0, 1}, 24)
	if err := f.underlay.nl.flush(); err != nil {
		return err
	}
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	f.bare = len(links)
	for _, kind := range []struct {
		name  string
		count int
		add   func(int) error
	}{{"node", f.Shape.Nodes, f.node}, {"client", f.Shape.Clients, f.client}, {"pod", f.Shape.Pods, f.pod}} {
		for i := range kind.count {
			if err := kind.add(i); err != nil {
				return fmt.Errorf("%s %d: %w", kind.name, i, err)
			}
		}
	}
	return f.restore()
}

// enter creates a namespace and moves the thread into it, with IPv6 off.
func (f *floor) enter(settings []string) (*space, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if len(f.others)%256 == 0 {
		if f.proc >= 0 {
			unix.Close(f.proc)
		}
		if f.proc, err = freshProc(); err != nil {
			return nil, err
		}
	}
	if err := f.set("net/ipv6/conf/all/disable_ipv6", "1"); err != nil && !errors.Is(err, unix.ENOENT) {
		return nil, err
	}
	for i := 0; i+1 < len(settings); i += 2 {
		if err := f.set(settings[i], settings[i+1]); err != nil {
			return nil, err
		}
	}
	n, err := openNL()
	return &space{fd: fd, nl: n}, err
}

func freshProc() (int, error) {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
}

func (f *floor) set(path, value string) error {
	fd, err := unix.Openat(f.proc, "sys/"+path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(value))
	return err
}

var nodeSettings = []string{
	"net/ipv4/ip_forward", "1", "net/bridge/bridge-nf-call-iptables", "1", "net/ipv4/conf/all/rp_filter", "0",
	"net/ipv4/conf/default/rp_filter", "0", "net/ipv4/icmp_ratelimit", "0", "net/ipv4/conf/all/route_localnet", "1",
}

func (f *floor) node(i int) error {
	s, err := f.enter(nodeSettings)
	if err != nil {
		return err
	}
	f.nodes = append(f.nodes, s)
	f.underlay.nl.veth(fmt.Sprintf("node%d", i), uplink+1+i, uplink, underlayMTU, "eth0", s.fd, mac(2, i, 0))
	if err := f.underlay.nl.flush(); err != nil {
		return err
	}
	n, own := s.nl, address(i)
	n.up(1)
	n.up(uplink)
	n.bridge("cni0", uplink+1, podMTU, mac(4, i, 0))
	n.vxlan("flannel.1", uplink+2, uplink, podMTU, own, mac(5, i, 0))
	n.addr(uplink, own, 24)
	n.addr(uplink+1, [4]byte{10, 244, byte(i + 1), 1}, 24)
	n.addr(uplink+2, [4]byte{10, 244, byte(i + 1), 0}, 32)
	n.route([4]byte{}, 0, [4]byte{192, 168, 0, 1}, uplink, false)
	if err := n.flush(); err != nil {
		return err
	}
	for j := range f.Shape.Nodes {
		if j != i {
			far := [4]byte{10, 244, byte(j + 1), 0}
			n.neigh(unix.AF_INET, uplink+2, far, mac(5, j, 0))
			n.neigh(unix.AF_BRIDGE, uplink+2, address(j), mac(5, j, 0))
			n.route(far, 24, far, uplink+2, true)
		}
	}
	return n.flush()
}

func address(i int) [4]byte { return [4]byte{192, 168, 0, byte(11 + i)} }

func mac(kind, i, j int) [6]byte {
	return [6]byte{2, byte(kind), byte(i >> 8), byte(i), byte(j >> 8), byte(j)}
}

func (f *floor) client(i int) error {
	return f.host([4]byte{192, 168, 0, byte(200 + i)}, [4]byte{192, 168, 0, 1}, f.underlay.nl, func(fd int) {
		f.underlay.nl.veth(fmt.Sprintf("client%d", i), uplink+1+f.Shape.Nodes+i, uplink, underlayMTU, "eth0", fd, mac(6, i, 0))
	})
}

func (f *floor) pod(i int) error {
	on, k := i%f.Shape.Nodes, i/f.Shape.Nodes
	name, n := fmt.Sprintf("veth%08x", i), f.nodes[on].nl
	return f.host([4]byte{10, 244, byte(on + 1), byte(2 + k)}, [4]byte{10, 244, byte(on + 1), 1}, n, func(fd int) {
		n.veth(name, uplink+3+k, uplink+1, podMTU, "eth0", fd, mac(8, on, k))
		n.hairpin(name)
	})
}

// host creates a pod or client, plugs it in on the near side, and configures it, each in
// one batch.
func (f *floor) host(own, via [4]byte, near *nl, plug func(fd int)) error {
	s, err := f.enter(nil)
	if err != nil {
		return err
	}
	defer s.nl.close()
	f.others = append(f.others, s.fd)
	plug(s.fd)
	if err := near.flush(); err != nil {
		return err
	}
	s.nl.up(1)
	s.nl.up(uplink)
	s.nl.addr(uplink, own, 24)
	s.nl.route([4]byte{}, 0, via, uplink, false)
	return s.nl.flush()
}

// restore loads the sets and rules of every node with bare programs, as many in parallel
// as there are cores.
func (f *floor) restore() error {
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	errs := make([]error, len(f.Rules))
	var all sync.WaitGroup
	for i, rules := range f.Rules {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if len(f.Sets) > 0 {
				errs[i] = restoreIn(f.nodes[i].fd, f.Sets[i], "ipset", "restore")
			}
			if errs[i] == nil {
				errs[i] = restoreIn(f.nodes[i].fd, rules, "iptables-restore")
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// restoreIn runs a program with a file as its input in a network namespace.
func restoreIn(fd int, file, program string, args ...string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdin = in
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			started <- err
			return
		}
		started <- cmd.Start()
	}()
	if err := <-started; err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, complaint.Bytes())
	}
	return nil
}

// close closes all descriptors and waits until the nodes' links are gone.
func (f *floor) close() error {
	for _, fd := range f.others {
		unix.Close(fd)
	}
	for _, s := range f.nodes {
		s.nl.close()
		unix.Close(s.fd)
	}
	if err := unix.Setns(f.underlay.fd, unix.CLONE_NEWNET); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		links, err := net.Interfaces()
		if err != nil {
			return err
		}
		if len(links) <= f.bare {
			f.underlay.nl.close()
			unix.Close(f.underlay.fd)
			return nil
		}
	}
	return errors.New("the links do not disappear")
}

// The floor runs in namespaces of its own, as an engine does.
const floorVariable = "NLAB_FLOOR"

// Main turns the process into the floor if this package started it as such, and then
// does not return. Programs that measure call it first.
func Main() {
	spec := os.Getenv(floorVariable)
	if spec == "" {
		return
	}
	os.Unsetenv(floorVariable)
	if err := serveFloor(spec); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
