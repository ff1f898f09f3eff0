package vm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// guest is the worker's state.
type guest struct {
	orders  orders
	control *os.File
	streams map[port]*stream
	events  sync.Mutex
	size    chan Size
	bye     chan struct{}
}

// stream counts what is written to a port, so that the host knows when it has all.
type stream struct {
	file  *os.File
	wrote atomic.Int64
}

func (s *stream) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	s.wrote.Add(int64(n))
	return n, err
}

// work is what the guest does: modules, channels, jobs, files, goodbye. Errors before
// there is a channel go to the console.
func work() {
	g := &guest{streams: map[port]*stream{}, size: make(chan Size, 1), bye: make(chan struct{})}
	if err := g.prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "netlab: guest:", err)
		return
	}
	go g.listen()
	g.tell(event{Kind: eventReady})
	for _, j := range g.orders.Jobs {
		outcome := g.do(j)
		g.tell(event{Kind: eventDone, Outcome: &outcome})
	}
	if err := pack(g.streams[portArtifacts], g.orders.Collect); err != nil {
		g.tell(event{Kind: eventError, Text: "pack files: " + err.Error()})
	}
	sent := map[port]int64{}
	for p, s := range g.streams {
		sent[p] = s.wrote.Load()
	}
	g.tell(event{Kind: eventEnd, Bytes: sent})
	<-g.bye
}

func (g *guest) prepare() error {
	text, err := os.ReadFile(ordersFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &g.orders); err != nil {
		return err
	}
	// As soon as a tunnel module is loaded, every new namespace would get a fallback
	// device (tunl0, sit0); they are not needed here
	// (Documentation/admin-guide/sysctl/net.rst).
	if err := os.WriteFile("/proc/sys/net/core/fb_tunnels_only_for_init_net", []byte("1"), 0); err != nil {
		fmt.Fprintln(os.Stderr, "netlab: fallback tunnels:", err)
	}
	for _, file := range g.orders.Modules {
		if err := loadModule(file); err != nil {
			fmt.Fprintf(os.Stderr, "netlab: module %s: %v\n", file, err)
		}
	}
	if err := g.open(); err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	return unix.Sethostname([]byte("netlab-vm"))
}

// loadModule loads one file; its dependencies are already loaded.
func loadModule(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	flags := 0
	if !strings.HasSuffix(file, ".ko") {
		flags = unix.MODULE_INIT_COMPRESSED_FILE
	}
	err = unix.FinitModule(int(f.Fd()), "", flags)
	if err == nil || errors.Is(err, unix.EEXIST) {
		return nil
	}
	if flags != 0 { // a kernel without decompression; modprobe has it
		return exec.Command("/sbin/modprobe", moduleName(file)).Run()
	}
	return err
}

// open finds the ports by name.
func (g *guest) open() error {
	names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
	if err != nil {
		return err
	}
	files := map[string]*os.File{}
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			return err
		}
		device := "/dev/" + filepath.Base(filepath.Dir(n))
		f, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		files[strings.TrimSpace(string(text))] = f
	}
	for _, p := range ports() {
		f := files[p.guestName()]
		if f == nil {
			return fmt.Errorf("no port %s among %d", p.guestName(), len(names))
		}
		if p == portControl {
			g.control = f
		} else {
			g.streams[p] = &stream{file: f}
		}
	}
	return nil
}

// loopbackUp sets lo up, since nothing else does.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

func (g *guest) tell(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		line = []byte(`{"kind":"error","text":"event"}`)
	}
	g.events.Lock()
	defer g.events.Unlock()
	_, _ = g.control.Write(append(line, '\n'))
}

// listen handles requests of the host.
func (g *guest) listen() {
	lines := bufio.NewReader(g.control)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			close(g.bye)
			return
		}
		var r request
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if r.Bye {
			close(g.bye)
			return
		}
		if r.Rows > 0 {
			select {
			case g.size <- Size{r.Rows, r.Cols}:
			default:
			}
		}
	}
}
