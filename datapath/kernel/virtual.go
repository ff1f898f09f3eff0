//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/moby/ipvs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netlab/netlab/datapath/plan"
)

// ipvsPatience bounds one request to IPVS. The library itself waits for an answer for
// ever: it takes every timeout of its socket for a reason to go on.
const ipvsPatience = 20 * time.Second

// loadIPVS makes sure that the kernel has IPVS, and returns the type of its messages. The library looks for it once per
// process, and stays blind when it was not there at that time; so look first.
func loadIPVS() (kind uint16, err error) {
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

// director speaks to IPVS in the network namespace in which it was opened.
type director struct {
	handle *ipvs.Handle
	watch  *time.Timer
}

// openDirector opens IPVS of the calling thread's namespace.
func openDirector() (*director, error) {
	if _, err := loadIPVS(); err != nil {
		return nil, err
	}
	handle, err := ipvs.New("")
	if err != nil {
		return nil, fmt.Errorf("ip_vs: %w", err)
	}
	// A closed socket is the one thing that ends the library's wait.
	d := &director{handle: handle}
	d.watch = time.AfterFunc(ipvsPatience, handle.Close)
	return d, nil
}

func (d *director) close() {
	if d.watch.Stop() {
		d.handle.Close()
	}
}

// ask does one request within a deadline of its own.
func (d *director) ask(verb string, service *ipvs.Service, real *ipvs.Destination, request func() error) error {
	if !d.watch.Reset(ipvsPatience) {
		return errors.New("ip_vs: the kernel does not answer")
	}
	err := request()
	if err == nil {
		return nil
	}
	words := "ipvsadm " + verb
	if service != nil {
		words += " " + protocolName(uint8(service.Protocol)) + " " + serviceAddr(service).String()
	}
	if real != nil {
		words += " -r " + realAddr(real).String()
	}
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%s: %w (IPVS refuses user namespaces)", words, err)
	}
	return fmt.Errorf("%s: %w", words, err)
}

// The flags of virtual servers (include/uapi/linux/ip_vs.h).
const (
	flagPersistent = 0x1
	flagSched1     = 0x8
	flagSched2     = 0x10
	flagSched3     = 0x20
)

// flag is a flag of a scheduler with ipvsadm's word for it.
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

// serviceOf is the virtual server as the library wants it.
func serviceOf(v *plan.VirtualServer) (*ipvs.Service, error) {
	addr := v.Addr.Addr()
	s := &ipvs.Service{Address: addr.AsSlice(), Protocol: uint16(protocolNumbers[v.Proto]), Port: v.Addr.Port(),
		SchedName: v.Scheduler, AddressFamily: uint16(family(addr)), Netmask: 0xffffffff}
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

func destinationOf(r *plan.RealServer) *ipvs.Destination {
	addr := r.Addr.Addr()
	return &ipvs.Destination{Address: addr.AsSlice(), Port: r.Addr.Port(), Weight: r.Weight,
		ConnectionFlags: ipvs.ConnectionFlagMasq, AddressFamily: uint16(family(addr))}
}

func serviceAddr(s *ipvs.Service) netip.AddrPort  { return ipvsAddr(s.Address, s.Port) }
func realAddr(d *ipvs.Destination) netip.AddrPort { return ipvsAddr(d.Address, d.Port) }

func ipvsAddr(ip net.IP, port uint16) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a.Unmap(), port)
}

// virtualOf is a virtual server as read from the kernel.
func virtualOf(s *ipvs.Service) plan.VirtualServer {
	v := plan.VirtualServer{Addr: serviceAddr(s), Proto: protocolName(uint8(s.Protocol)), Scheduler: s.SchedName}
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

// schedulerHint: the kernel says ENOENT when it has no such scheduler, loadable or not.
func schedulerHint(err error, scheduler string) string {
	if errors.Is(err, unix.ENOENT) {
		return fmt.Sprintf(": the kernel has no scheduler %[1]s (module ip_vs_%[1]s)", scheduler)
	}
	return ""
}

// remove deletes virtual servers at once, with their connections' real servers.
func (d *director) remove(list []plan.VirtualServer) error {
	for i := range list {
		s, err := serviceOf(&plan.VirtualServer{Addr: list[i].Addr, Proto: list[i].Proto, Scheduler: list[i].Scheduler})
		if err != nil {
			return err
		}
		err = d.ask("-D", s, nil, func() error { return d.handle.DelService(s) })
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// list reads the virtual servers of the namespace. Those in leaving, which only wait
// for their last connection, are left out.
func (d *director) list(proc *procfs, leaving departures) ([]plan.VirtualServer, error) {
	var services []*ipvs.Service
	err := d.ask("-Sn", nil, nil, func() (err error) {
		services, err = d.handle.GetServices()
		return err
	})
	if err != nil {
		return nil, err
	}
	reals, err := proc.reals()
	if err != nil {
		return nil, err
	}
	list := make([]plan.VirtualServer, 0, len(services))
	for _, s := range services {
		if s.FWMark != 0 {
			continue // of somebody else: plans have none
		}
		v := virtualOf(s)
		its, shown := reals[virtualKey{v.Addr, v.Proto}]
		if !shown {
			if its, err = d.destinations(s); errors.Is(err, unix.ESRCH) {
				continue // gone since
			} else if err != nil {
				return nil, err
			}
		}
		for _, r := range its {
			at := departure{v.Addr, v.Proto, realAddr(r)}
			if _, gone := leaving[at]; gone && r.Weight == 0 {
				leaving[at] = connections{r.ActiveConnections, r.InactiveConnections}
				continue
			}
			v.Real = append(v.Real, plan.RealServer{Addr: at.real, Weight: r.Weight})
		}
		list = append(list, v)
	}
	return list, nil
}

func (d *director) destinations(s *ipvs.Service) (list []*ipvs.Destination, err error) {
	err = d.ask("-Sn", s, nil, func() (err error) {
		list, err = d.handle.GetDestinations(s)
		return err
	})
	return list, err
}

// readVirtual lists the virtual servers of the calling thread's namespace.
func readVirtual(proc *procfs, leaving departures) ([]plan.VirtualServer, error) {
	d, err := openDirector()
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.list(proc, leaving)
}
