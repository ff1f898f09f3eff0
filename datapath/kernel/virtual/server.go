//go:build linux

package virtual

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"time"

	moby "github.com/moby/ipvs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/kernel/procfs"
	"github.com/netlab/netlab/datapath/kernel/sets"
	"github.com/netlab/netlab/datapath/kernel/socket"
	"github.com/netlab/netlab/datapath/plan/ipvs"
)

// ipvsPatience bounds one request to IPVS. The library itself waits for an answer
// forever: it continues after every timeout of its socket.
const ipvsPatience = 20 * time.Second

// Load ensures that IPVS is loaded, and returns the type of its messages. The library
// looks for it once per process, and never again if it was missing then; so load it
// first.
func Load() (kind uint16, err error) {
	handle, err := netlink.NewHandle(unix.NETLINK_GENERIC)
	if err != nil {
		return 0, err
	}
	defer handle.Close()
	if f, err := handle.GenlFamilyGet("IPVS"); err == nil {
		return f.ID, nil
	}
	out, failed := exec.Command("modprobe", "ip_vs").CombinedOutput()
	f, err := handle.GenlFamilyGet("IPVS")
	switch {
	case err == nil:
		return f.ID, nil
	case failed != nil:
		return 0, fmt.Errorf("ip_vs: %w (modprobe ip_vs: %w: %s)", err, failed, strings.TrimSpace(string(out)))
	}
	return 0, fmt.Errorf("ip_vs: %w", err)
}

// listing is the command of read-only requests.
const listing = "ipvsadm -Sn"

// director talks to IPVS in the network namespace in which it was opened.
type director struct {
	handle *moby.Handle
	watch  *time.Timer
}

// openDirector opens IPVS in the calling thread's namespace.
func openDirector() (*director, error) {
	if _, err := Load(); err != nil {
		return nil, err
	}
	handle, err := moby.New("")
	if err != nil {
		return nil, fmt.Errorf("ip_vs: %w", err)
	}
	// Only closing the socket ends the library's wait.
	d := &director{handle: handle}
	d.watch = time.AfterFunc(ipvsPatience, handle.Close)
	return d, nil
}

func (d *director) Close() {
	if d.watch.Stop() {
		d.handle.Close()
	}
}

// ask makes one request with a deadline of its own. An error names its purpose.
func (d *director) ask(command string, request func() error) error {
	if !d.watch.Reset(ipvsPatience) {
		return errors.New("ip_vs: the kernel does not answer")
	}
	err := request()
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w (IPVS is not available in user namespaces)", command, err)
	case err != nil:
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

// The flags of virtual servers (include/uapi/linux/ip_vs.h).
const (
	flagPersistent = 0x1
	flagSched1     = 0x8
	flagSched2     = 0x10
	flagSched3     = 0x20
)

// flag is a scheduler flag with ipvsadm's name for it.
type flag struct {
	name string
	bit  uint32
}

func schedulerFlags(scheduler string) []flag {
	switch scheduler {
	case "sh", "mh":
		return []flag{{scheduler + "-fallback", flagSched1}, {scheduler + "-port", flagSched2}, {"flag-3", flagSched3}}
	default:
		return []flag{{"flag-1", flagSched1}, {"flag-2", flagSched2}, {"flag-3", flagSched3}}
	}
}

// serviceOf is the virtual server in the library's type.
func serviceOf(v *ipvs.Server) (*moby.Service, error) {
	addr := v.Addr.Addr()
	s := &moby.Service{Address: addr.AsSlice(), Protocol: uint16(sets.ProtocolNumbers[v.Proto]), Port: v.Addr.Port(),
		SchedName: v.Scheduler, AddressFamily: uint16(socket.Family(addr)), Netmask: 0xffffffff}
	if addr.Is6() {
		s.Netmask = 128
	}
	if v.Persistent > 0 {
		s.Flags |= flagPersistent
		s.Timeout = uint32(v.Persistent)
	}
	for _, name := range v.Flags {
		known := schedulerFlags(v.Scheduler)
		i := slices.IndexFunc(known, func(f flag) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("virtual server %s: scheduler %s has no flag %q", v.Service(), v.Scheduler, name)
		}
		s.Flags |= known[i].bit
	}
	return s, nil
}

func destinationOf(r *ipvs.Real) *moby.Destination {
	addr := r.Addr.Addr()
	return &moby.Destination{Address: addr.AsSlice(), Port: r.Addr.Port(), Weight: r.Weight,
		ConnectionFlags: moby.ConnectionFlagMasq, AddressFamily: uint16(socket.Family(addr))}
}

func realAddr(d *moby.Destination) netip.AddrPort { return ipvsAddr(d.Address, d.Port) }

func ipvsAddr(ip net.IP, port uint16) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a.Unmap(), port)
}

// virtualOf is a virtual server as read from the kernel.
func virtualOf(s *moby.Service) ipvs.Server {
	v := ipvs.Server{Addr: ipvsAddr(s.Address, s.Port), Proto: sets.ProtocolName(uint8(s.Protocol)), Scheduler: s.SchedName}
	if s.Flags&flagPersistent != 0 {
		v.Persistent = int(s.Timeout)
	}
	for _, f := range schedulerFlags(v.Scheduler) {
		if s.Flags&f.bit != 0 {
			v.Flags = append(v.Flags, f.name)
		}
	}
	return v
}

// schedulerHint: the kernel returns ENOENT when it has no such scheduler, built in or
// loadable.
func schedulerHint(err error, scheduler string) string {
	if errors.Is(err, unix.ENOENT) {
		return fmt.Sprintf(": the kernel has no scheduler %[1]s (module ip_vs_%[1]s)", scheduler)
	}
	return ""
}

// Read lists the virtual servers of the calling thread's namespace. Draining real servers
// are left out.
func Read(proc *procfs.FS, draining *Drains) ([]ipvs.Server, error) {
	d, err := openDirector()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	services, err := d.services()
	if err != nil {
		return nil, err
	}
	reals, err := reals(proc)
	if err != nil {
		return nil, err
	}
	list := make([]ipvs.Server, 0, len(services))
	known := make(map[key]bool, len(services))
	for _, s := range services {
		v := virtualOf(s)
		if s.FWMark != 0 || known[key{v.Addr, v.Proto}] {
			// Plans have no firewall marks. A dump counts its way through the virtual
			// servers of all namespaces, so one comes twice when another lab changes
			// meanwhile (ip_vs_genl_dump_services).
			continue
		}
		known[key{v.Addr, v.Proto}] = true
		its, shown := reals[key{v.Addr, v.Proto}]
		if !shown {
			if its, err = d.destinations(s); errors.Is(err, unix.ESRCH) {
				continue // deleted since
			} else if err != nil {
				return nil, err
			}
		}
		for _, r := range its {
			at := drainKey{v.Addr, v.Proto, realAddr(r)}
			if _, gone := draining.all[at]; gone && r.Weight == 0 {
				draining.all[at] = connections{r.ActiveConnections, r.InactiveConnections}
				continue
			}
			v.Real = append(v.Real, ipvs.Real{Addr: at.Real, Weight: r.Weight})
		}
		list = append(list, v)
	}
	return list, nil
}

func (d *director) services() (list []*moby.Service, err error) {
	err = d.ask(listing, func() (err error) {
		list, err = d.handle.GetServices()
		return err
	})
	return list, err
}

func (d *director) destinations(s *moby.Service) (list []*moby.Destination, err error) {
	err = d.ask(listing, func() (err error) {
		list, err = d.handle.GetDestinations(s)
		return err
	})
	return list, err
}
